"""A recurrence of one number through many steps: nothing is there to be done side by side."""

from __future__ import annotations

from collections.abc import Callable

import ostinato as ot
from bench.harness.timing import rates


def program() -> ot.Program:
    """Return the last number of a logistic map."""
    t = ot.dims("t")
    x = ot.recurrent("x", over=t)
    x[0] = ot.input("first")
    x[t + 1] = 3.7 * x * (1.0 - x)
    return ot.Program(last=x[-1])


def logistic(steps: int, target: str = "cpu") -> Callable[[], float]:
    compiled = program().compile(target=target)

    def run(times: int) -> None:
        for _ in range(times):
            compiled(T=steps, first=0.5)

    return rates(run, steps)
