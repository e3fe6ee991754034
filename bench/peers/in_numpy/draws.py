"""Draws of gamma and beta distributions in NumPy, in float64 as it has them."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from bench.harness.timing import rates


def sampler(distribution: str, count: int) -> Callable[[], float]:
    rng = np.random.default_rng(0)

    def run(iterations: int) -> None:
        for _ in range(iterations):
            if distribution == "gamma":
                rng.standard_gamma(2.5, count)
            else:
                rng.beta(2.5, 1.5, count)

    return rates(run, count)
