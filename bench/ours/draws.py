"""Draws of gamma and beta distributions."""

from __future__ import annotations

from collections.abc import Callable

import ostinato as ot
from bench.harness.timing import rates


def sampler(distribution: str, count: int) -> Callable[[], float]:
    """Draws per second, of concentrations 2.5 and, for beta, 1.5."""
    drawn = (
        ot.random.gamma(2.5, shape=(count,))
        if distribution == "gamma"
        else ot.random.beta(2.5, 1.5, shape=(count,))
    )
    compiled = ot.Program(y=drawn).compile()

    def run(iterations: int) -> None:
        for seed in range(iterations):
            compiled(seed=seed)

    return rates(run, count)
