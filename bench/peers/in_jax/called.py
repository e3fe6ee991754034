"""Samples of calls of a jitted function."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import jax

from bench.harness.timing import rates


def called(
    function: Callable[..., object], given: Sequence[jax.Array], amount: float
) -> Callable[[], float]:
    """Return a sampler of calls, each of which does an amount of work."""

    def run(iterations: int) -> None:
        for _ in range(iterations):
            jax.block_until_ready(function(*given))

    return rates(run, amount)
