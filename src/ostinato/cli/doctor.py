"""``ostinato doctor``: what this machine has, and whether a program compiles and runs on it."""

from __future__ import annotations

import os
import platform
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table
from rich.text import Text

import ostinato as ot
from ostinato.cli.output import write_json
from ostinato.machine.profile_store import current
from ostinato.pdg.errors import OptionError
from ostinato.runtime.run import cuda_device

REQUIRED = ("numpy", "numba", "llvmlite", "egglog", "islpy", "sympy")
OPTIONAL = {
    "matplotlib": "plot",
    "gymnasium": "gym",
    "tensorboard": "tensorboard",
}  # package -> the extra that brings it


@dataclass(frozen=True, slots=True)
class Finding:
    """One line of the diagnosis; `is_fine` is False only where programs would not run."""

    subject: str
    is_fine: bool
    detail: str


def diagnose(path: Path | None, console: Console) -> int:
    """Show every finding, write them as JSON on request, and return the exit status."""
    findings = [*environment(), *packages(), gpu(), compiled_equals_interpreted()]
    table = Table(show_header=False, box=None)
    for finding in findings:
        mark = Text("ok", "green") if finding.is_fine else Text("fails", "red")
        table.add_row(mark, finding.subject, finding.detail)
    console.print(table)
    write_json(path, [asdict(finding) for finding in findings])
    return 0 if all(finding.is_fine for finding in findings) else 1


def environment() -> list[Finding]:
    cores = len(os.sched_getaffinity(0))
    return [
        Finding("python", True, f"{platform.python_version()} on {platform.platform()}"),
        Finding("cores", True, f"{cores} usable, load {os.getloadavg()[0]:.1f}"),
        profile(),
    ]


def profile() -> Finding:
    """Which profile prices programs; a broken one leaves the shipped default."""
    try:
        return Finding("profile", True, str(current()))
    except OptionError as error:
        return Finding("profile", False, f"{error.fact}. {error.remedy}")


def packages() -> list[Finding]:
    return [
        *(installed(name, "reinstall ostinato", is_needed=True) for name in REQUIRED),
        *(
            installed(name, f"optional: pip install 'ostinato[{extra}]'", is_needed=False)
            for name, extra in OPTIONAL.items()
        ),
    ]


def installed(package: str, remedy: str, is_needed: bool) -> Finding:
    try:
        return Finding(package, True, version(package))
    except PackageNotFoundError:
        return Finding(package, not is_needed, f"not installed ({remedy})")


def gpu() -> Finding:
    """Whether ``target="cuda"`` can run; programs for the CPU need none of it."""
    lacks = cuda_device.missing()
    if not lacks:
        return Finding("cuda", True, f"{cuda_device.find().name}")
    return Finding("cuda", True, f"{lacks} (optional: pip install 'ostinato[cuda13]', or cuda12)")


def compiled_equals_interpreted(clock: Callable[[], float] = time.perf_counter) -> Finding:
    """Trace, rewrite, compile and run a small recurrence, and compare with the interpreter."""
    subject = "compile and run"
    t = ot.dims("t")
    x = ot.input("x", over=(t,))
    total = ot.recurrent("total", over=(t,))
    total[0] = x[0]
    total[t + 1] = total[t] + x[t + 1]
    program = ot.Program(total=total)
    values = np.arange(8, dtype=np.float32)
    started = clock()
    try:
        found = program.compile()(x=values)["total"]
    except Exception as error:  # whatever stops a program from running is the diagnosis
        return Finding(subject, False, f"{type(error).__name__}: {error}")
    taken_s = clock() - started
    if not np.array_equal(found, program.interpret(x=values)["total"]):
        return Finding(subject, False, f"wrong result {found.tolist()} for {values.tolist()}")
    return Finding(subject, True, f"right result after {taken_s:.2f} s")
