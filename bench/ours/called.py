"""Samples of calls of a program."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import ostinato as ot
from bench.harness.timing import rates


def called(
    program: ot.Program, arguments: Mapping[str, object], amount: float, threads: int = 0
) -> Callable[[], float]:
    """Return a sampler of calls, each of which does an amount of work."""
    compiled = program.compile(threads=threads)

    def run(iterations: int) -> None:
        for _ in range(iterations):
            compiled(**arguments)

    return rates(run, amount)
