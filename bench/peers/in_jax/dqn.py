"""Double DQN on CartPole in JAX: a step and an update after the other, all in one scan."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import jax
import jax.numpy as jnp

from bench.peers.in_jax.cartpole import Game, observe, reset, step
from bench.peers.in_jax.network import Moments, Net, adam, applied, averaged, net, no_moments
from bench.peers.in_jax.off_policy import returns, speed
from bench.peers.in_jax.replay import drawn, empty, written


@dataclass(frozen=True)
class Setup:
    """Sizes and hyper-parameters, the same for all programs of the suite."""

    batch: int
    hidden: int
    second: int  # units of the second hidden layer
    window: int = 10_000
    start: int = 1000  # steps before anything is learnt
    learning_rate: float = 5e-4
    decay: float = 0.99
    explored: int = 10_000  # steps until few actions are random
    least: float = 0.01


class Step(NamedTuple):
    seen: jax.Array
    action: jax.Array
    terminated: jax.Array
    following: jax.Array


class Training(NamedTuple):
    """Everything that one step hands to the next."""

    values: Net
    slow: Net
    moments: Moments
    memory: Step
    count: jax.Array  # of steps
    game: Game
    key: jax.Array


def start(setup: Setup, seed: int = 0) -> Training:
    key, weights, games = jax.random.split(jax.random.key(seed), 3)
    values = net(weights, (4, setup.hidden, setup.second, 2))
    seen, no = jnp.zeros(4), jnp.zeros((), bool)
    memory = empty(Step(seen, jnp.zeros((), jnp.int32), no, seen), setup.window)
    count = jnp.zeros((), jnp.int32)
    return Training(values, values, no_moments(values), memory, count, reset(games, 1), key)


def loss(values: Net, slow: Net, x: Step) -> jax.Array:
    chosen = applied(values, x.following).argmax(-1)
    after = jnp.take_along_axis(applied(slow, x.following), chosen[:, None], 1)[:, 0]
    target = jax.lax.stop_gradient(1.0 + 0.99 * jnp.where(x.terminated, 0.0, after))
    value = jnp.take_along_axis(applied(values, x.seen), x.action[:, None], 1)[:, 0]
    return ((value - target) ** 2).mean()


def clipped(grads: Net, limit: float) -> Net:
    norm = jnp.sqrt(sum(jnp.sum(g * g) for g in jax.tree.leaves(grads)))
    return jax.tree.map(lambda g: g * jnp.minimum(1.0, limit / norm), grads)


def iterate(now: Training, setup: Setup) -> tuple[Training, tuple[jax.Array, jax.Array]]:
    """Return what follows a step and an update, whether a game ended, and its length."""
    key, choose, other, again, draw = jax.random.split(now.key, 5)
    seen = observe(now.game)[0]
    rate = jnp.maximum(1.0 - (1.0 - setup.least) * now.count / setup.explored, setup.least)
    best = applied(now.values, seen).argmax(-1).astype(jnp.int32)
    is_random = jax.random.uniform(choose) < rate
    action = jnp.where(is_random, jax.random.randint(other, (), 0, 2), best)
    following, fell, cut = step(now.game, action[None])
    memory = written(
        now.memory, Step(seen, action, fell[0], observe(following)[0]), now.count, setup.window
    )
    count = now.count + 1

    def learnt(_: None) -> tuple[Net, Moments]:
        x = drawn(memory, draw, count, setup.window, setup.batch)
        grads = clipped(jax.grad(loss)(now.values, now.slow, x), 10.0)
        return adam(now.values, now.moments, grads, count - setup.start, setup.learning_rate)

    same = lambda _: (now.values, now.moments)  # noqa: E731
    values, moments = jax.lax.cond(count > setup.start, learnt, same, None)
    fresh, done = reset(again, 1), fell | cut
    motion = jnp.where(done[:, None], fresh.motion, following.motion)
    game = Game(motion, jnp.where(done, fresh.steps, following.steps))
    slow = averaged(now.slow, values, setup.decay)
    after = Training(values, slow, moments, memory, count, game, key)
    return after, (done[0], following.steps[0])


def sampler(batch: int, hidden: int, second: int) -> Callable[[], float]:
    return speed(start, iterate, Setup(batch, hidden, second))


def learning(batch: int, hidden: int, second: int, steps: int) -> Callable[[], float]:
    return returns(start, iterate, Setup(batch, hidden, second), steps)
