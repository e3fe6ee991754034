"""Q-learning and tile coding in JAX: a scan that changes entries of the table it carries."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from bench.peers.in_jax.called import called

ACTIONS, RATE, DISCOUNT = 6, 0.1, 0.95
TILINGS, STEP = 8, 0.0125


def world(places: int, steps: int) -> list[jax.Array]:
    rng = np.random.default_rng(0)
    return [
        jnp.asarray(rng.integers(0, places, (places, ACTIONS)), jnp.int32),
        jnp.asarray(rng.normal(size=(places, ACTIONS)), jnp.float32),
        jnp.asarray(rng.random(steps) < 0.1),
        jnp.asarray(rng.integers(0, ACTIONS, steps), jnp.int32),
    ]


@jax.jit
def learnt(
    leads: jax.Array, earns: jax.Array, explores: jax.Array, any_action: jax.Array
) -> tuple[jax.Array, jax.Array]:
    Carried = tuple[jax.Array, jax.Array]

    def step(before: Carried, given: Carried) -> tuple[Carried, jax.Array]:
        (at, value), (explore, other) = before, given
        action = jnp.where(explore, other, value[at].argmax())
        following, earned = leads[at, action], earns[at, action]
        target = earned + DISCOUNT * value[following].max()
        old = value[at, action]
        return (following, value.at[at, action].set(old + RATE * (target - old))), earned

    first = jnp.int32(0), jnp.zeros_like(earns)
    (_, value), earned = lax.scan(step, first, (explores, any_action))
    return earned.sum(), value


def q_learning(places: int, steps: int) -> Callable[[], float]:
    return called(learnt, world(places, steps), steps)


def tiles(weights: int, steps: int) -> list[jax.Array]:
    rng = np.random.default_rng(0)
    each = weights // TILINGS
    found = rng.integers(0, each, (steps, TILINGS)) + each * np.arange(TILINGS)
    reward = jnp.asarray(rng.normal(size=steps), jnp.float32)
    return [jnp.asarray(found, jnp.int32), reward]


@partial(jax.jit, static_argnames="weights")
def foretold(tile: jax.Array, reward: jax.Array, weights: int) -> tuple[jax.Array, jax.Array]:
    after = jnp.concatenate([tile[1:], tile[-1:]])

    def step(
        weight: jax.Array, given: tuple[jax.Array, jax.Array, jax.Array]
    ) -> tuple[jax.Array, jax.Array]:
        here, there, earned = given
        value = weight[here].sum()
        error = earned + DISCOUNT * weight[there].sum() - value
        return weight.at[here].add(STEP * error), value

    weight, value = lax.scan(step, jnp.zeros(weights), (tile, after, reward))
    return value.sum(), weight


def tile_coding(weights: int, steps: int) -> Callable[[], float]:
    return called(partial(foretold, weights=weights), tiles(weights, steps), steps)
