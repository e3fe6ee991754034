"""gymnax: its environments, stepped in one scan with random actions."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import gymnax
import jax
import jax.numpy as jnp

from bench.harness.timing import rates


def cartpole(envs: int, steps: int) -> Callable[[], float]:
    return speed("CartPole-v1", envs, steps)


def pendulums(envs: int, steps: int) -> Callable[[], float]:
    return speed("Pendulum-v1", envs, steps)


def speed(name: str, envs: int, steps: int) -> Callable[[], float]:
    env, params = gymnax.make(name)
    reset = jax.vmap(partial(env.reset, params=params))
    advance = jax.vmap(env.step, in_axes=(0, 0, 0, None))

    def actions(key):
        if name.startswith("CartPole"):
            return jax.random.randint(key, (envs,), 0, 2)
        return jax.random.uniform(key, (envs, 1), minval=-2.0, maxval=2.0)

    @jax.jit
    def play(key):
        first, key = jax.random.split(key)
        _, state = reset(jax.random.split(first, envs))

        def step(carry, key):
            state, total, ends = carry
            act, go = jax.random.split(key)
            _, state, reward, ended, cut, _ = advance(
                jax.random.split(go, envs), state, actions(act), params
            )
            return (state, total + reward.sum(), ends + (ended | cut).sum()), None

        start = (state, jnp.zeros(()), jnp.zeros((), jnp.int32))
        (_, total, ends), _ = jax.lax.scan(step, start, jax.random.split(key, steps))
        return total, ends

    def run(iterations: int) -> None:
        for seed in range(iterations):
            play(jax.random.key(seed))[0].block_until_ready()

    return rates(run, envs * steps)
