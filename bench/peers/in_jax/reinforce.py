"""REINFORCE on CartPole in plain JAX: one jitted iteration, a scan over time, `jax.grad`."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp

from bench.harness.timing import rates
from bench.peers.in_jax.cartpole import STEP_LIMIT
from bench.peers.in_numpy import reinforce as plain
from bench.peers.in_numpy.reinforce import Setup


class State(NamedTuple):
    """Everything that one iteration hands to the next."""

    params: list[jax.Array]
    first: list[jax.Array]
    second: list[jax.Array]
    count: jax.Array
    key: jax.Array


def initial_state(setup: Setup, seed: int = 0) -> State:
    key, *keys = jax.random.split(jax.random.key(seed), 4)
    params: list[jax.Array] = []
    for key_, (fan_in, fan_out, scale) in zip(keys, plain.layers(setup), strict=True):
        params.append(scale / fan_in**0.5 * jax.random.normal(key_, (fan_in, fan_out)))
        params.append(jnp.zeros(fan_out))
    first, second = ([jnp.zeros_like(p) for p in params] for _ in range(2))
    return State(params, first, second, jnp.zeros((), jnp.int32), key)


def logits(params: list[jax.Array], x: jax.Array) -> jax.Array:
    w1, b1, w2, b2, w3, b3 = params
    return jnp.tanh(jnp.tanh(x @ w1 + b1) @ w2 + b2) @ w3 + b3


def physics(state: jax.Array, action: jax.Array) -> tuple[jax.Array, jax.Array]:
    x, x_dot, theta, theta_dot = state.T
    cos, sin = jnp.cos(theta), jnp.sin(theta)
    total, pole_moment = plain.CART + plain.POLE, plain.POLE * plain.HALF_LENGTH
    force = jnp.where(action == 1, plain.FORCE, -plain.FORCE)
    pull = (force + pole_moment * theta_dot**2 * sin) / total
    angular = (plain.GRAVITY * sin - cos * pull) / (
        plain.HALF_LENGTH * (4 / 3 - plain.POLE * cos**2 / total)
    )
    linear = pull - pole_moment * angular * cos / total
    after = state + plain.TAU * jnp.stack([x_dot, linear, theta_dot, angular], axis=-1)
    fell = (abs(after[:, 0]) > plain.X_LIMIT) | (abs(after[:, 2]) > plain.THETA_LIMIT)
    return after, fell


Step = tuple[jax.Array, jax.Array, jax.Array]  # state, action, alive


def play(params: list[jax.Array], setup: Setup, key: jax.Array, unroll: int = 1) -> Step:
    start_key, key = jax.random.split(key)
    start = jax.random.uniform(start_key, (setup.episodes, 4), minval=-0.05, maxval=0.05)

    def step(
        carry: tuple[jax.Array, jax.Array], at: tuple[jax.Array, jax.Array]
    ) -> tuple[tuple[jax.Array, jax.Array], Step]:
        (state, running), (t, key) = carry, at
        action = jax.random.categorical(key, logits(params, state))
        after, fell = physics(state, action)
        goes_on = running & ~fell & (t + 1 < STEP_LIMIT)
        following = jnp.where(goes_on[:, None], after, state)
        return (following, goes_on), (state, action, running.astype(jnp.float32))

    running = jnp.ones(setup.episodes, bool)
    times = jnp.arange(setup.steps), jax.random.split(key, setup.steps)
    return jax.lax.scan(step, (start, running), times, unroll=unroll)[1]


def advantages(alive: jax.Array, gamma: float) -> jax.Array:
    def back(total: jax.Array, reward: jax.Array) -> tuple[jax.Array, jax.Array]:
        total = reward + gamma * total
        return total, total

    _, returns = jax.lax.scan(back, jnp.zeros(alive.shape[1]), alive, reverse=True)
    count = alive.sum()
    mean = (returns * alive).sum() / count
    deviation = jnp.sqrt((((returns - mean) * alive) ** 2).sum() / count)
    return (returns - mean) / (deviation + 1e-6) * alive


def loss(params: list[jax.Array], played: Step, weight: jax.Array) -> jax.Array:
    state, action, _ = played
    log_p = jax.nn.log_softmax(logits(params, state))
    chosen = jnp.take_along_axis(log_p, action[..., None], -1)[..., 0]
    return -(chosen * weight).sum()


def learn(run: State, setup: Setup, unroll: int = 1) -> tuple[State, jax.Array]:
    """Return the state after one iteration and the mean return of its episodes."""
    key, play_key = jax.random.split(run.key)
    played = play(run.params, setup, play_key, unroll)
    alive = played[2]
    weight = advantages(alive, setup.gamma) / alive.sum()
    return improved(run, jax.grad(loss)(run.params, played, weight), setup, key), alive.sum(
        0
    ).mean()


def improved(run: State, grads: list[jax.Array], setup: Setup, key: jax.Array) -> State:
    """Return the state after one step of Adam."""
    count = run.count + 1
    rate = setup.learning_rate * jnp.sqrt(1 - plain.ADAM_SECOND**count)
    rate = rate / (1 - plain.ADAM_FIRST**count)
    pairs = zip(run.first, run.second, grads, strict=True)
    moments = [
        (m + (1 - plain.ADAM_FIRST) * (g - m), v + (1 - plain.ADAM_SECOND) * (g * g - v))
        for m, v, g in pairs
    ]
    params = [
        p - rate * m / (jnp.sqrt(v) + plain.ADAM_EPSILON)
        for p, (m, v) in zip(run.params, moments, strict=True)
    ]
    return State(params, [m for m, _ in moments], [v for _, v in moments], count, key)


@partial(jax.jit, static_argnums=(1, 2, 3), donate_argnums=0)
def iterate(run: State, setup: Setup, count: int, unroll: int) -> tuple[State, jax.Array]:
    """Return the state after so many iterations and the mean return of each."""
    return jax.lax.scan(lambda s, _: learn(s, setup, unroll), run, length=count)


class Reinforce:
    """A training run that keeps its state on the device; one call per iteration or for all."""

    def __init__(self, setup: Setup, seed: int = 0, unroll: int = 1) -> None:
        self._setup, self._state, self._unroll = setup, initial_state(setup, seed), unroll

    def run(self, iterations: int) -> float:
        """Return the mean return of the last of so many iterations, once it is known."""
        returns = jnp.zeros(1)
        for _ in range(iterations):
            self._state, returns = iterate(self._state, self._setup, 1, self._unroll)
        return float(returns[-1])


def scanned(episodes: int, steps: int) -> Callable[[], float]:
    training = Reinforce(Setup(episodes, steps))
    return rates(training.run, episodes * steps)


def unrolled(episodes: int, steps: int) -> Callable[[], float]:
    training = Reinforce(Setup(episodes, steps), unroll=8)
    return rates(training.run, episodes * steps)
