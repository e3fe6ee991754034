"""Rates of programs that run any number of iterations. Standard library only: peers use it too."""

from __future__ import annotations

import time
from collections.abc import Callable

SECONDS = 0.3  # the least time of a sample: long against the clock and the scheduler's slices


def rates(
    run: Callable[[int], object], amount: float, seconds: float = SECONDS
) -> Callable[[], float]:
    """Return a sampler of that rate; its samples run the same number of iterations.

    The number is found by doubling it until a run takes long enough; the runs warm up, too.
    Programs are prepared side by side: it is doubled again where a sample turns out to be short.
    """
    chosen = _Iterations(run, seconds)
    return lambda: chosen.rate(amount)


class _Iterations:
    """As many iterations as take long enough."""

    def __init__(self, run: Callable[[int], object], seconds: float) -> None:
        self._run, self._seconds, self._count = run, seconds, 1
        run(1)
        while elapsed(run, self._count) < seconds:
            self._count *= 2

    def rate(self, amount: float) -> float:
        while (taken := elapsed(self._run, self._count)) < self._seconds / 2:
            self._count *= 2
        return self._count * amount / taken


def elapsed(run: Callable[[int], object], count: int) -> float:
    """Return the seconds that so many iterations take."""
    start = time.perf_counter()
    run(count)
    return time.perf_counter() - start
