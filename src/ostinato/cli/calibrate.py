"""``ostinato calibrate``: measure this machine and keep its profile."""

from __future__ import annotations

import os
import time
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from ostinato.calibration.measure import Effort
from ostinato.calibration.measure import calibrate as measured
from ostinato.cli.output import write_text
from ostinato.machine.profile import LEVELS, PRODUCTS, Profile
from ostinato.machine.profile_store import forget, store

BUSY = 0.5  # other programs' share of the processors from which a measurement is not to be trusted


def calibrate(path: Path | None, console: Console, effort: Effort | None = None) -> Profile:
    """Measure the profile of this machine, store it, and show it; also as JSON on request."""
    load = os.getloadavg()[0]
    if load > BUSY:
        console.print(
            f"other programs are running (load {load:.1f}): times are too long", style="yellow"
        )
    started = time.perf_counter()
    with Progress(
        TextColumn("{task.description:24}"), BarColumn(), TimeElapsedColumn(), console=console
    ) as bar:
        task = bar.add_task("")
        profile, _ = measured(
            lambda name, k, n: bar.update(task, description=name, completed=k, total=n), effort
        )
    stored = store(profile)
    forget()
    console.print(table(profile))
    console.print(f"measured in {time.perf_counter() - started:.0f} s, stored in {stored}")
    write_text(path, profile.to_json())
    return profile


def table(profile: Profile) -> Table:
    """The numbers of a profile beside those of the shipped default."""
    out = Table("nanoseconds of one core per", "measured", "shipped")
    for (name, mine), (_, usual) in zip(_rows(profile), _rows(Profile()), strict=True):
        out.add_row(name, f"{mine:.3g}", f"{usual:.3g}")
    return out


def _rows(profile: Profile) -> list[tuple[str, float]]:
    """What the numbers are called, and the numbers."""
    return [
        ("call of a compiled program", profile.run_ns),
        ("call of a kernel", profile.kernel_ns),
        ("barrier of all workers", profile.barrier_ns),
        ("start of a vector loop", profile.leaf_ns),
        ("point of a loop without vectors", profile.point_ns),
        ("step that waits for the one before", profile.serial_ns),
        *((f"waiting for {fn}", profile.waits[fn]) for fn in Profile().waits),
        ("elementwise operation", profile.step_ns),
        ("element added to a number", profile.fold_ns),
        ("number alone, in elements of a vector", profile.alone),
        *((fn, profile.functions[fn]) for fn in Profile().functions),
        ("start of a matrix product", profile.product_ns),
        *(
            (f"multiply-add, {kind} product", ns)
            for kind, ns in zip(PRODUCTS, profile.multiply_ns, strict=True)
        ),
        *((f"byte from {level}", ns) for level, ns in zip(LEVELS, profile.byte_ns, strict=True)),
        ("element read in strides", profile.strided_ns),
        ("element of a result in another order", profile.copy_ns),
        ("uniform draw", profile.draw_ns),
        ("normal draw", profile.normal_ns),
        ("comparison of a sort", profile.order_ns),
    ]
