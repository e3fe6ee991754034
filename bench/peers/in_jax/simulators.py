"""Simulators alone: games with random actions that start again when they end, in one scan."""

from __future__ import annotations

from collections.abc import Callable

import jax
import jax.numpy as jnp

from bench.harness.timing import rates
from bench.peers.in_jax.cartpole import Game, reset, step


def cartpole(envs: int, steps: int) -> Callable[[], float]:
    def advance(game: Game, key: jax.Array) -> tuple[Game, jax.Array]:
        act, again = jax.random.split(key)
        following, fell, cut = step(game, jax.random.randint(act, (envs,), 0, 2))
        done, fresh = fell | cut, reset(again, envs)
        motion = jnp.where(done[:, None], fresh.motion, following.motion)
        return Game(motion, jnp.where(done, 0, following.steps)), done.sum()

    @jax.jit
    def play(key: jax.Array) -> jax.Array:
        first, later = jax.random.split(key)
        return jax.lax.scan(advance, reset(first, envs), jax.random.split(later, steps))[1].sum()

    def run(iterations: int) -> None:
        for seed in range(iterations):
            play(jax.random.key(seed)).block_until_ready()

    return rates(run, envs * steps)
