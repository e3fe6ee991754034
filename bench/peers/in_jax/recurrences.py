"""A recurrence of one number through many steps, as a loop inside one program."""

from __future__ import annotations

from collections.abc import Callable

import jax
import jax.numpy as jnp

from bench.harness.timing import rates


def logistic(steps: int) -> Callable[[], float]:
    @jax.jit
    def last(first: jax.Array) -> jax.Array:
        return jax.lax.fori_loop(0, steps - 1, lambda _, x: 3.7 * x * (1.0 - x), first)

    def run(times: int) -> None:
        for _ in range(times):
            last(jnp.float32(0.5)).block_until_ready()

    return rates(run, steps)
