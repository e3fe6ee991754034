"""Generalized advantage estimation in JAX: one jitted function of arrays, time first."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np

from bench.harness.timing import rates

DISCOUNT, TRACE = 0.99, 0.99 * 0.95


def surprises(reward: jax.Array, value: jax.Array) -> jax.Array:
    return reward + DISCOUNT * value[1:] - value[:-1]


@partial(jax.jit, static_argnums=2)
def by_scan(reward: jax.Array, value: jax.Array, unroll: int) -> jax.Array:
    def back(total: jax.Array, surprise: jax.Array) -> tuple[jax.Array, jax.Array]:
        total = surprise + TRACE * total
        return total, total

    found = surprises(reward, value)
    return jax.lax.scan(back, jnp.zeros_like(reward[0]), found, reverse=True, unroll=unroll)[1]


@partial(jax.jit, static_argnums=2)
def by_association(reward: jax.Array, value: jax.Array, _: int) -> jax.Array:
    def joined(
        late: tuple[jax.Array, jax.Array], early: tuple[jax.Array, jax.Array]
    ) -> tuple[jax.Array, jax.Array]:
        return late[0] * early[0], early[1] + early[0] * late[1]

    found = surprises(reward, value)
    pairs = (jnp.full_like(found, TRACE), found)
    return jax.lax.associative_scan(joined, pairs, reverse=True)[1]


def sampler(
    function: Callable[..., jax.Array], unroll: int, envs: int, steps: int
) -> Callable[[], float]:
    rng = np.random.default_rng(0)
    reward = jnp.asarray(rng.normal(size=(steps, envs)), jnp.float32)
    value = jnp.asarray(rng.normal(size=(steps + 1, envs)), jnp.float32)

    def run(iterations: int) -> None:
        for _ in range(iterations):
            function(reward, value, unroll).block_until_ready()

    return rates(run, envs * steps)


def scanned(envs: int, steps: int) -> Callable[[], float]:
    return sampler(by_scan, 1, envs, steps)


def unrolled(envs: int, steps: int) -> Callable[[], float]:
    return sampler(by_scan, 16, envs, steps)


def associated(envs: int, steps: int) -> Callable[[], float]:
    return sampler(by_association, 1, envs, steps)
