"""Soft actor-critic on Pendulum in JAX: a step and an update after the other, in one scan."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp

from bench.peers.in_jax.network import Moments, Net, adam, applied, averaged, net, no_moments
from bench.peers.in_jax.off_policy import returns, speed
from bench.peers.in_jax.replay import drawn, empty, written

TORQUE, SPEED, STEP_S, STEP_LIMIT = 2.0, 8.0, 0.05, 200
LOWEST, HIGHEST = -5.0, 2.0  # the logarithm of a deviation


@dataclass(frozen=True)
class Setup:
    """Sizes and hyper-parameters, the same for all programs of the suite."""

    batch: int
    hidden: int
    window: int = 20_000
    start: int = 500  # steps of random actions
    learning_rate: float = 1e-3
    decay: float = 0.995


class Params(NamedTuple):
    actor: Net
    critics: tuple[Net, Net]
    log_temperature: jax.Array


class Step(NamedTuple):
    seen: jax.Array
    action: jax.Array
    reward: jax.Array
    following: jax.Array


class Game(NamedTuple):
    angle: jax.Array
    speed: jax.Array
    steps: jax.Array
    earned: jax.Array


class Training(NamedTuple):
    """Everything that one step hands to the next."""

    params: Params
    slow: tuple[Net, Net]
    moments: Moments
    memory: Step
    count: jax.Array
    game: Game
    key: jax.Array


def reset(key: jax.Array) -> Game:
    first, second = jax.random.split(key)
    angle = jax.random.uniform(first, minval=-jnp.pi, maxval=jnp.pi)
    speed = jax.random.uniform(second, minval=-1.0, maxval=1.0)
    return Game(angle, speed, jnp.zeros((), jnp.int32), jnp.zeros(()))


def observe(game: Game) -> jax.Array:
    return jnp.stack([jnp.cos(game.angle), jnp.sin(game.angle), game.speed])


def step(game: Game, action: jax.Array) -> tuple[Game, jax.Array]:
    """Return the next state and the reward, with Gymnasium's constants."""
    from_top = (game.angle + jnp.pi) % (2 * jnp.pi) - jnp.pi
    reward = -(from_top**2 + 0.1 * game.speed**2 + 0.001 * action**2)
    speed = game.speed + (15.0 * jnp.sin(game.angle) + 3.0 * action) * STEP_S
    speed = jnp.clip(speed, -SPEED, SPEED)
    angle = game.angle + speed * STEP_S
    return Game(angle, speed, game.steps + 1, game.earned + reward), reward


def start(setup: Setup, seed: int = 0) -> Training:
    key, actor, one, two, games = jax.random.split(jax.random.key(seed), 5)
    hidden = (setup.hidden, setup.hidden)
    critics = net(one, (4, *hidden, 1)), net(two, (4, *hidden, 1))
    params = Params(net(actor, (3, *hidden, 2)), critics, jnp.zeros(()))
    seen, number = jnp.zeros(3), jnp.zeros(())
    memory = empty(Step(seen, jnp.zeros(1), number, seen), setup.window)
    count = jnp.zeros((), jnp.int32)
    return Training(params, critics, no_moments(params), memory, count, reset(games), key)


def acted(actor: Net, seen: jax.Array, key: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Return actions that are drawn, and the logarithm of their density."""
    mean, spread = jnp.split(applied(actor, seen), 2, -1)
    log_std = LOWEST + 0.5 * (HIGHEST - LOWEST) * (jnp.tanh(spread) + 1.0)
    noise = jax.random.normal(key, mean.shape)
    before = mean + jnp.exp(log_std) * noise
    normal = -0.5 * noise**2 - log_std - 0.5 * jnp.log(2 * jnp.pi)
    squashed = 2.0 * (jnp.log(2.0) - before - jax.nn.softplus(-2.0 * before)) + jnp.log(TORQUE)
    return TORQUE * jnp.tanh(before), (normal - squashed).sum(-1)


def worst(critics: tuple[Net, Net], seen: jax.Array, action: jax.Array) -> jax.Array:
    x = jnp.concatenate([seen, action], -1)
    return jnp.minimum(applied(critics[0], x)[..., 0], applied(critics[1], x)[..., 0])


def loss(params: Params, slow: tuple[Net, Net], x: Step, key: jax.Array) -> jax.Array:
    """All three losses; each has gradients for its own parameters only."""
    fixed = jax.lax.stop_gradient
    one, two = jax.random.split(key)
    temperature = jnp.exp(params.log_temperature)
    then, density = acted(params.actor, x.following, one)
    after = worst(slow, x.following, then) - temperature * density
    target = fixed(x.reward + 0.99 * after)
    rows = jnp.concatenate([x.seen, x.action], -1)
    errors = sum(((applied(c, rows)[..., 0] - target) ** 2).mean() for c in params.critics)
    chosen, log_prob = acted(params.actor, x.seen, two)
    policy = (fixed(temperature) * log_prob - worst(fixed(params.critics), x.seen, chosen)).mean()
    excess = fixed(-log_prob.mean() + 1.0)
    return errors + policy + temperature * excess


def iterate(now: Training, setup: Setup) -> tuple[Training, tuple[jax.Array, jax.Array]]:
    """Return what follows a step and an update, whether a game ended, and what it returned."""
    key, choose, other, again, draw, noise = jax.random.split(now.key, 6)
    seen = observe(now.game)
    found, _ = acted(now.params.actor, seen, choose)
    random = jax.random.uniform(other, (1,), minval=-TORQUE, maxval=TORQUE)
    action = jnp.where(now.count < setup.start, random, found)
    following, reward = step(now.game, action[0])
    stepped = Step(seen, action, reward, observe(following))
    memory = written(now.memory, stepped, now.count, setup.window)
    count = now.count + 1

    def learnt(_: None) -> tuple[Params, Moments]:
        x = drawn(memory, draw, count, setup.window, setup.batch)
        grads = jax.grad(loss)(now.params, now.slow, x, noise)
        return adam(now.params, now.moments, grads, count - setup.start, setup.learning_rate)

    same = lambda _: (now.params, now.moments)  # noqa: E731
    params, moments = jax.lax.cond(count > setup.start, learnt, same, None)
    done = following.steps >= STEP_LIMIT
    game = jax.tree.map(partial(jnp.where, done), reset(again), following)
    slow = averaged(now.slow, params.critics, setup.decay)
    after = Training(params, slow, moments, memory, count, game, key)
    return after, (done, following.earned)


def sampler(batch: int, hidden: int) -> Callable[[], float]:
    return speed(start, iterate, Setup(batch, hidden))


def learning(batch: int, hidden: int, steps: int) -> Callable[[], float]:
    return returns(start, iterate, Setup(batch, hidden), steps)
