"""Rates of programs that run any number of iterations. Standard library only: peers use it too."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial

SECONDS = 0.3  # the least time of a sample: long against the clock and the scheduler's slices


def rates(
    run: Callable[[int], object], amount: float, seconds: float = SECONDS
) -> Callable[[], float]:
    """Return a sampler of that rate; every sample runs the same number of iterations.

    The number is found by doubling it until a run takes long enough; the runs warm up, too.
    """
    count = 1
    run(count)
    while elapsed(run, count) < seconds:
        count *= 2
    return partial(_rate, run, count, amount)


def _rate(run: Callable[[int], object], count: int, amount: float) -> float:
    return count * amount / elapsed(run, count)


def elapsed(run: Callable[[int], object], count: int) -> float:
    """Return the seconds that so many iterations take."""
    start = time.perf_counter()
    run(count)
    return time.perf_counter() - start
