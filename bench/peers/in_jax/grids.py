"""Life, heat and Gray-Scott on a torus in JAX: one jitted loop over the steps."""

from __future__ import annotations

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np

from bench.harness.timing import rates

AROUND = tuple((i, j) for i in (-1, 0, 1) for j in (-1, 0, 1) if i or j)
Grids = tuple[jax.Array, ...]


def _spread(x: jax.Array) -> jax.Array:
    beside = jnp.roll(x, 1, 0) + jnp.roll(x, -1, 0) + jnp.roll(x, 1, 1) + jnp.roll(x, -1, 1)
    return beside - 4 * x


def _life(grids: Grids) -> Grids:
    (cells,) = grids
    alive = sum(jnp.roll(cells, place, (0, 1)) for place in AROUND)
    return (((alive == 3) | ((alive == 2) & (cells == 1))).astype(jnp.int32),)


def _heat(grids: Grids) -> Grids:
    (x,) = grids
    return (x + 0.1 * _spread(x),)


def _gray_scott(grids: Grids) -> Grids:
    u, v = grids
    made = u * v * v
    return u + 0.16 * _spread(u) - made + 0.06 * (1 - u), v + 0.08 * _spread(v) + made - 0.122 * v


STEPS = {"life": (1, _life), "heat": (1, _heat), "gray_scott": (2, _gray_scott)}


def sampler(rule: str, size: int, steps: int) -> Callable[[], float]:
    count, step = STEPS[rule]
    rng = np.random.default_rng(0)
    drawn = [rng.random((size, size)).astype(np.float32) for _ in range(count)]
    grids = tuple(jnp.asarray((x < 0.3).astype(np.int32) if rule == "life" else x) for x in drawn)
    looped = jax.jit(lambda found: jax.lax.fori_loop(0, steps - 1, lambda _, g: step(g), found))

    def run(iterations: int) -> None:
        for _ in range(iterations):
            jax.block_until_ready(looped(grids))

    return rates(run, size * size * (steps - 1))
