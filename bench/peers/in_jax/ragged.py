"""REINFORCE whose episodes end: in JAX with masks, or with loops that end with the last episode.

Both count useful steps only, those before an episode's end, from a fresh policy on.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial

import jax
import jax.numpy as jnp

from bench.peers.in_jax.cartpole import STEP_LIMIT
from bench.peers.in_jax.reinforce import State, improved, initial_state, learn, logits, physics
from bench.peers.in_numpy.reinforce import Setup

CHUNK = 20  # steps whose gradient is computed at once, and which the early exit rounds up to


def played(params: list[jax.Array], setup: Setup, key: jax.Array) -> tuple[jax.Array, ...]:
    """Return states, actions, masks and the number of steps of the longest episode."""
    first, key = jax.random.split(key)
    start = jax.random.uniform(first, (setup.episodes, 4), minval=-0.05, maxval=0.05)
    shape = setup.steps, setup.episodes
    rooms = jnp.zeros((*shape, 4)), jnp.zeros(shape, jnp.int32), jnp.zeros(shape)

    def goes_on(at: tuple) -> jax.Array:
        t, _, running, _ = at
        return (t < setup.steps) & running.any()

    def step(at: tuple) -> tuple:
        t, state, running, (states, actions, alive) = at
        action = jax.random.categorical(jax.random.fold_in(key, t), logits(params, state))
        states, actions = states.at[t].set(state), actions.at[t].set(action)
        alive = alive.at[t].set(running.astype(jnp.float32))
        after, fell = physics(state, action)
        return t + 1, after, running & ~fell & (t + 1 < STEP_LIMIT), (states, actions, alive)

    running = jnp.ones(setup.episodes, bool)
    length, _, _, rooms = jax.lax.while_loop(goes_on, step, (0, start, running, rooms))
    return *rooms, length


def outcomes(alive: jax.Array, length: jax.Array, gamma: float) -> jax.Array:
    """Return the normalised discounted returns, computed up to a length."""

    def back(k: jax.Array, at: tuple) -> tuple:
        total, found = at
        t = length - 1 - k
        total = alive[t] + gamma * total
        return total, found.at[t].set(total)

    found = jnp.zeros_like(alive)
    _, found = jax.lax.fori_loop(0, length, back, (jnp.zeros(alive.shape[1]), found))
    count = alive.sum()
    mean = (found * alive).sum() / count
    deviation = jnp.sqrt((((found - mean) * alive) ** 2).sum() / count)
    return (found - mean) / (deviation + 1e-6) * alive / count


def loss(
    params: list[jax.Array], state: jax.Array, action: jax.Array, weight: jax.Array
) -> jax.Array:
    log_p = jax.nn.log_softmax(logits(params, state))
    return -(jnp.take_along_axis(log_p, action[..., None], -1)[..., 0] * weight).sum()


@partial(jax.jit, static_argnums=1, donate_argnums=0)
def iterate(run: State, setup: Setup) -> tuple[State, jax.Array]:
    """Return the state after one iteration and the number of useful steps."""
    key, play_key = jax.random.split(run.key)
    states, actions, alive, length = played(run.params, setup, play_key)
    weight = outcomes(alive, length, setup.gamma)

    def chunk(k: jax.Array, grads: list[jax.Array]) -> list[jax.Array]:
        rows = [
            jax.lax.dynamic_slice_in_dim(x, k * CHUNK, CHUNK) for x in (states, actions, weight)
        ]
        return [a + b for a, b in zip(grads, jax.grad(loss)(run.params, *rows), strict=True)]

    zeros = [jnp.zeros_like(p) for p in run.params]
    grads = jax.lax.fori_loop(0, (length + CHUNK - 1) // CHUNK, chunk, zeros)
    return improved(run, grads, setup, key), alive.sum()


@partial(jax.jit, static_argnums=1, donate_argnums=0)
def iterate_masked(run: State, setup: Setup) -> tuple[State, jax.Array]:
    run, mean_length = learn(run, setup)
    return run, mean_length * setup.episodes


def sampler(
    iteration: Callable[..., tuple[State, jax.Array]], episodes: int, steps: int, updates: int
) -> Callable[[], float]:
    setup = Setup(episodes, steps)
    seeds = iter(range(1_000_000))

    def sample() -> float:
        run = jax.block_until_ready(initial_state(setup, next(seeds)))
        start = time.perf_counter()
        useful = []
        for _ in range(updates):
            run, count = iteration(run, setup)
            useful.append(count)
        total = float(sum(useful))
        return total / (time.perf_counter() - start)

    return sample


def masked(episodes: int, steps: int, updates: int) -> Callable[[], float]:
    return sampler(iterate_masked, episodes, steps, updates)


def ending(episodes: int, steps: int, updates: int) -> Callable[[], float]:
    return sampler(iterate, episodes, steps, updates)
