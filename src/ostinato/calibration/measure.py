"""Measuring a profile: the time of one more step of programs that do one kind of work.

Every number is a slope, so that what a run takes besides its steps does not count; of several runs
the fastest counts, because all that disturbs a run makes it slower. One worker's work is measured
by the processor's time, which other programs disturb less; waiting for others, by the clock.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import ostinato as ot
from ostinato.calibration import workloads
from ostinato.calibration.workloads import FEW, HISTORY, SCALARS, VECTOR, Repetition, numbers
from ostinato.machine.profile import LEVELS, Profile
from ostinato.machine.profile_store import processor
from ostinato.runtime.run.arrays import copy
from ostinato.runtime.run.cores import available_cores

CACHES = Path("/sys/devices/system/cpu/cpu0/cache")
MOST_L3 = 64 << 20  # bytes: a part of a large cache that many share
MOST_STEPS = 1 << 22
LANES = 16  # numbers of a vector
CHAINS = 16  # of divisions: more than a processor has in flight
ROWS = 512  # of a matrix that is read in strides: a power of two, as many extents are
TILE = 32  # rows of a tile, when nobody says how many there are
ALIKE = {"erfc": "erf", "digamma": "lgamma", "floordiv": "mod"}  # functions that take as long
PASSES = 4  # of a step of `streamed`: it writes the new value, and moves it to where it is read


@dataclass(frozen=True)
class Effort:
    """How long to measure: seconds per slope, runs of each length, bytes of the largest vector."""

    slope_s: float = 0.02
    runs: int = 5
    most_bytes: int = 192 << 20


@dataclass
class Stopwatch:
    """Times repetitions; ``clock`` gives seconds."""

    effort: Effort
    clock: Callable[[], float] = time.process_time

    def run_s(self, work: Repetition, steps: int) -> float:
        """The fastest run of so many steps."""
        taken: list[float] = []
        for _ in range(self.effort.runs):
            started = self.clock()
            work(steps)
            taken.append(self.clock() - started)
        return min(taken)

    def step_ns(self, work: Repetition) -> float:
        """One more step; never nothing."""
        many = 32
        empty_s = self.run_s(work, 2)
        while many < MOST_STEPS and self.run_s(work, many) - empty_s < self.effort.slope_s:
            many *= 4
        few = max(2, many // 8)
        gained = self.run_s(work, many) - self.run_s(work, few)
        return max(gained / (many - few) * 1e9, 1e-3)


def level_bytes() -> tuple[int, ...]:
    """What each cache level holds for one core; the defaults where the system does not say."""
    found = list(Profile().level_bytes)
    for index in sorted(CACHES.glob("index*")):
        level, kind = ((index / name).read_text().strip() for name in ("level", "type"))
        size = (index / "size").read_text().strip()
        if kind != "Instruction" and size.endswith("K") and int(level) <= len(found):
            found[int(level) - 1] = int(size[:-1]) << 10
    found[-1] = min(found[-1], MOST_L3)
    return tuple(found)


Stage = tuple[str, Callable[[Stopwatch, dict[str, Any]], None]]


def stages(effort: Effort) -> Iterator[Stage]:
    """What is measured, in an order in which later stages know the results of earlier ones."""
    yield "steps", _steps
    for fn in workloads.FUNCTIONS:
        yield fn, _function(fn)
    sizes = workloads.level_sizes(level_bytes(), effort.most_bytes)
    for level, size in enumerate(sizes):
        yield f"memory, {LEVELS[level]}", _memory(level, size)
    yield "matrix products", _products
    yield "single numbers", _scalars
    yield "operations that wait", _waits
    yield "strides", _strides
    yield "draws", _draws
    yield "sorting", _sorting
    yield "calls and barriers", _calls


def calibrate(
    show: Callable[[str, int, int], None], effort: Effort | None = None
) -> tuple[Profile, dict[str, float]]:
    """Measure the profile of this machine, and how long each stage took.

    ``show`` is told the name of every stage, its number and how many there are.
    """
    chosen = effort or Effort()
    watch = Stopwatch(chosen)
    found: dict[str, Any] = {"level_bytes": level_bytes(), "byte_ns": (), "functions": {}}
    all_stages = list(stages(chosen))
    taken: dict[str, float] = {}
    for number, (name, measure) in enumerate(all_stages):
        show(name, number, len(all_stages))
        started = time.perf_counter()
        measure(watch, found)
        taken[name] = time.perf_counter() - started
    show("done", len(all_stages), len(all_stages))
    about = f"{processor()}, {available_cores()} cores, {time.strftime('%Y-%m-%d')}"
    functions = {**Profile().functions, **found.pop("functions")}
    functions |= {fn: functions[other] for fn, other in ALIKE.items()}
    found.pop("base_ns")
    return Profile(name=about, functions=dict(sorted(functions.items())), **found), taken


def _steps(watch: Stopwatch, found: dict[str, Any]) -> None:
    one, five = (watch.step_ns(workloads.chain(times, "float32")) for times in (1, 5))
    wide = watch.step_ns(workloads.chain(5, "float64"))
    few = watch.step_ns(workloads.kept(1, numbers(FEW))) / (2 * HISTORY)
    found["base_ns"] = one
    found["step_ns"] = max((five - one) / (4 * 2 * VECTOR), 1e-4)
    found["fold_ns"] = max((watch.step_ns(workloads.folded()) - one) / VECTOR, found["step_ns"])
    found["wide"] = max(wide / five, 1.0)
    found["leaf_ns"] = max(few - one * FEW / VECTOR, 0.2) / 2  # two loops per step: see `_memory`


def _function(fn: str) -> Callable[[Stopwatch, dict[str, Any]], None]:
    def measure(watch: Stopwatch, found: dict[str, Any]) -> None:
        more = watch.step_ns(workloads.applied(fn)) - found["base_ns"]
        found["functions"][fn] = max(more / VECTOR, found["step_ns"])

    return measure


def _memory(level: int, size: int) -> Callable[[Stopwatch, dict[str, Any]], None]:
    def measure(watch: Stopwatch, found: dict[str, Any]) -> None:
        taken = watch.step_ns(workloads.streamed(size))
        rate = (taken / size - 2 * found["step_ns"]) / (PASSES * 4)
        above = found["byte_ns"][-1] if level else 1e-4  # a lower level is never faster
        found["byte_ns"] = (*found["byte_ns"], max(rate, above))

    return measure


def _products(watch: Stopwatch, found: dict[str, Any]) -> None:
    shapes = ((1, 128), (32, 32), (64, 96), (256, 256))
    rates: list[float] = []
    for rows, inner in shapes:
        taken = watch.step_ns(workloads.product(rows, inner))
        moved = 2 * 4 * rows * inner * found["byte_ns"][0]
        rates.append(max(taken - moved, 1e-3) / (rows * inner * inner))
    tiny = watch.step_ns(workloads.product(8, 8))
    found["multiply_ns"] = tuple(rates)
    found["product_ns"] = max(tiny - 8**3 * min(rates) - 2 * found["leaf_ns"], 1.0)


def _scalars(watch: Stopwatch, found: dict[str, Any]) -> None:
    one, few, many = (
        watch.step_ns(workloads.kept(count, numbers(1)[0])) / (2 * HISTORY)
        for count in (1, SCALARS, 2 * SCALARS)  # many take the units' time, not each other's
    )
    found["serial_ns"] = one
    found["point_ns"] = max((many - few) / SCALARS, LANES * found["step_ns"])


def _waits(watch: Stopwatch, found: dict[str, Any]) -> None:
    """From operand to result; then divisions of so many chains that their number limits them."""

    def step_ns(*changes: workloads.Change) -> float:
        return watch.step_ns(workloads.waiting(*changes)) / HISTORY

    least = LANES * found["step_ns"]
    multiplied = max(step_ns(workloads.multiplied), least)
    waits = {"add": max(step_ns(lambda h: h + 0.01), least), "mul": multiplied}
    for fn, change in workloads.WAITING.items():
        waits[fn] = max(step_ns(workloads.after_product(change)) - multiplied, least)
    waits["div"] = max(waits["div"] - waits["add"], least)  # the divisor is a sum
    found["waits"] = {**Profile().waits, **waits}
    many, few = (step_ns(*map(workloads.quotient, range(n))) for n in (CHAINS, CHAINS // 2))
    each = (many - few) / (CHAINS // 2)
    found["alone"] = min(max(each / found["functions"]["div"], 1.0), float(LANES))


def _strides(watch: Stopwatch, found: dict[str, Any]) -> None:
    square = numbers(ROWS * ROWS).reshape(ROWS, ROWS)
    plain = watch.step_ns(workloads.streamed(square.size))
    turned = watch.step_ns(workloads.repeated(workloads.turned, square))
    found["strided_ns"] = max((turned - plain) / square.size, found["step_ns"])
    other = np.empty_like(square)
    plain, turned = (_fastest_ns(watch, partial(copy, other, x)) for x in (square, square.T))
    found["copy_ns"] = max((turned - plain) / square.size, found["step_ns"])


def _fastest_ns(watch: Stopwatch, work: Callable[[], object]) -> float:
    """The fastest of some runs of something that takes long enough to be timed once."""
    taken: list[float] = []
    for _ in range(4 * watch.effort.runs):
        started = watch.clock()
        work()
        taken.append(watch.clock() - started)
    return min(taken) * 1e9


def _draws(watch: Stopwatch, found: dict[str, Any]) -> None:
    for name, draw in (("draw_ns", ot.random.uniform), ("normal_ns", ot.random.normal)):
        taken = watch.step_ns(workloads.drawn(draw, lambda x: x))
        found[name] = max((taken - found["base_ns"]) / VECTOR, found["step_ns"])


def _sorting(watch: Stopwatch, found: dict[str, Any]) -> None:
    taken = watch.step_ns(workloads.drawn(ot.random.uniform, ot.sort)) - found["base_ns"]
    compared = VECTOR * math.log2(VECTOR)
    found["order_ns"] = max(taken / VECTOR - found["draw_ns"], 0.1) * VECTOR / compared


def _calls(watch: Stopwatch, found: dict[str, Any]) -> None:
    watch = Stopwatch(watch.effort, time.perf_counter)
    found["run_ns"] = watch.run_s(workloads.empty(), 2) * 1e9
    alone = watch.step_ns(workloads.shared(1))
    few = watch.step_ns(workloads.shared(1, TILE))
    work = (alone - few) * workloads.ROWS / (workloads.ROWS - TILE)
    found["kernel_ns"] = max(alone - work, 1.0) / (workloads.BARRIERS + 1)
    if available_cores() > 1:
        together = watch.step_ns(workloads.shared(available_cores()))
        waited = together - (alone - work / 2)  # two do half of the work each
        found["barrier_ns"] = max(waited, 1.0) / workloads.BARRIERS
