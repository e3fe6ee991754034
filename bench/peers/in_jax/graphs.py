"""PageRank to convergence and additions at computed positions in JAX, each in one jit."""

from __future__ import annotations

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np

from bench.harness.timing import rates

DAMPING, ENOUGH, MOST = 0.85, 1e-6, 1000


def pagerank(pages: int, links: int) -> Callable[[], float]:
    rng = np.random.default_rng(0)
    drawn = rng.integers(0, pages, (2, links)).astype(np.int32)
    count = np.maximum(np.bincount(drawn[0], minlength=pages), 1).astype(np.float32)
    start, end, degree = map(jnp.asarray, (drawn[0], drawn[1], count))

    @jax.jit
    def ranks(start: jax.Array, end: jax.Array, degree: jax.Array) -> jax.Array:
        def step(found: tuple[jax.Array, ...]) -> tuple[jax.Array, ...]:
            rank, _, number = found
            passed = jnp.zeros(pages).at[end].add((rank / degree)[start])
            later = (1 - DAMPING) / pages + DAMPING * passed
            return later, jnp.abs(later - rank).sum(), number + 1

        def goes_on(found: tuple[jax.Array, ...]) -> jax.Array:
            return (found[1] >= ENOUGH) & (found[2] < MOST)

        first = jnp.full(pages, 1 / pages), jnp.float32(1), jnp.int32(0)
        return jax.lax.while_loop(goes_on, step, first)[0]

    def run(iterations: int) -> None:
        for _ in range(iterations):
            ranks(start, end, degree).block_until_ready()

    return rates(run, 1)


def scatter(rows: int, width: int, places: int) -> Callable[[], float]:
    rng = np.random.default_rng(0)
    updates = jnp.asarray(rng.standard_normal((rows, width)), jnp.float32)
    at = jnp.asarray(rng.integers(0, places, rows), jnp.int32)
    added = jax.jit(lambda x, k: jnp.zeros((places, width)).at[k].add(x))

    def run(iterations: int) -> None:
        for _ in range(iterations):
            added(updates, at).block_until_ready()

    return rates(run, rows * width)
