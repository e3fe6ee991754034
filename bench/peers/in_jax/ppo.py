"""PPO on CartPole in JAX, compiled as one program: rollout, advantages and updates in scans."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import NamedTuple

import jax
import jax.numpy as jnp

from bench.harness.learning import samples
from bench.harness.timing import rates
from bench.peers.in_jax.cartpole import Game, observe, reset, step

Layer = tuple[jax.Array, jax.Array]
Net = tuple[Layer, ...]
Params = tuple[Net, Net]  # of the actor and of the critic


@dataclass(frozen=True)
class Setup:
    """Sizes and hyper-parameters, the same for all programs of the suite."""

    envs: int
    steps: int = 128
    epochs: int = 4
    minibatches: int = 4
    hidden: int = 64
    learning_rate: float = 1e-3
    updates: int = 1000  # until the learning rate is 0


class Training(NamedTuple):
    """Everything that one iteration hands to the next."""

    params: Params
    first: Params
    second: Params
    count: jax.Array  # of Adam's steps
    games: Game
    key: jax.Array


class Played(NamedTuple):
    """What is known of a step of every environment."""

    seen: jax.Array
    action: jax.Array
    log_p: jax.Array
    value: jax.Array
    done: jax.Array
    length: jax.Array


def net(key: jax.Array, *layers: int) -> Net:
    keys, sizes = jax.random.split(key, len(layers) - 1), pairwise(layers)
    init = jax.nn.initializers.orthogonal(2**0.5)
    return tuple((init(k, s), jnp.zeros(s[1])) for k, s in zip(keys, sizes, strict=True))


def applied(layers: Net, x: jax.Array) -> jax.Array:
    for weight, bias in layers[:-1]:
        x = jnp.tanh(x @ weight + bias)
    return x @ layers[-1][0] + layers[-1][1]


def values(critic: Net, x: jax.Array) -> jax.Array:
    return applied(critic, x)[..., 0]


def start(setup: Setup, seed: int = 0, *layers: int) -> Training:
    """Return the first state, with nets of these layers before the last one."""
    key, actor, critic, games = jax.random.split(jax.random.key(seed), 4)
    layers = layers or (4, setup.hidden, setup.hidden)
    params = net(actor, *layers, 2), net(critic, *layers, 1)
    zeros = jax.tree.map(jnp.zeros_like, params)
    return Training(params, zeros, zeros, jnp.zeros((), jnp.int32), reset(games, setup.envs), key)


def play(
    training: Training, setup: Setup, observe: Callable[[Game], jax.Array] = observe
) -> tuple[Training, Played]:
    actor, critic = training.params

    def one(carry: tuple[Game, jax.Array], _: None) -> tuple[tuple[Game, jax.Array], Played]:
        games, key = carry
        key, choose, again = jax.random.split(key, 3)
        seen = observe(games)
        logits = jax.nn.log_softmax(applied(actor, seen))
        action = jax.random.categorical(choose, logits)
        following, terminated, cut = step(games, action)
        done = terminated | cut
        log_p = jnp.take_along_axis(logits, action[:, None], 1)[:, 0]
        played = Played(seen, action, log_p, values(critic, seen), done, following.steps)
        fresh = reset(again, setup.envs)
        motion = jnp.where(done[:, None], fresh.motion, following.motion)
        return (Game(motion, jnp.where(done, fresh.steps, following.steps)), key), played

    (games, key), played = jax.lax.scan(one, (training.games, training.key), length=setup.steps)
    return training._replace(games=games, key=key), played


def advantages(played: Played, last: jax.Array) -> jax.Array:
    """Return how much better every action was; a game that is cut counts as over."""

    def back(
        carry: tuple[jax.Array, jax.Array], at: Played
    ) -> tuple[tuple[jax.Array, ...], jax.Array]:
        total, value_after = carry
        goes_on = 1.0 - at.done
        surprise = 1.0 + 0.99 * value_after * goes_on - at.value
        total = surprise + 0.99 * 0.95 * goes_on * total
        return (total, at.value), total

    return jax.lax.scan(back, (jnp.zeros_like(last), last), played, reverse=True, unroll=16)[1]


Batch = tuple[jax.Array, jax.Array, jax.Array, jax.Array, jax.Array]


def loss(params: Params, batch: Batch) -> jax.Array:
    seen, action, before, advantage, target = batch
    logits = jax.nn.log_softmax(applied(params[0], seen))
    log_p = jnp.take_along_axis(logits, action[:, None], 1)[:, 0]
    ratio = jnp.exp(log_p - before)
    weight = (advantage - advantage.mean()) / (advantage.std() + 1e-8)
    gain = jnp.minimum(ratio * weight, jnp.clip(ratio, 0.8, 1.2) * weight).mean()
    entropy = -(jnp.exp(logits) * logits).sum(-1).mean()
    error = ((values(params[1], seen) - target) ** 2).mean()
    return 0.5 * error - gain - 0.01 * entropy


def adam(training: Training, grads: Params, rate: jax.Array) -> Training:
    norm = jnp.sqrt(sum(jnp.sum(g * g) for g in jax.tree.leaves(grads)))
    scale = jnp.minimum(1.0, 0.5 / norm)
    count = training.count + 1
    rise_1, rise_2 = 1 - 0.9**count, 1 - 0.999**count
    grads = jax.tree.map(lambda g: g * scale, grads)
    first = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, training.first, grads)
    second = jax.tree.map(lambda v, g: 0.999 * v + 0.001 * g * g, training.second, grads)
    params = jax.tree.map(
        lambda p, m, v: p - rate * (m / rise_1) / (jnp.sqrt(v / rise_2) + 1e-5),
        training.params,
        first,
        second,
    )
    return training._replace(params=params, first=first, second=second, count=count)


def learn(training: Training, rows: Batch, setup: Setup) -> Training:
    iteration = training.count // (setup.epochs * setup.minibatches)
    rate = setup.learning_rate * (1.0 - iteration / setup.updates)

    def minibatch(now: Training, batch: Batch) -> tuple[Training, None]:
        return adam(now, jax.grad(loss)(now.params, batch), rate), None

    def epoch(now: Training, _: None) -> tuple[Training, None]:
        key, shuffle = jax.random.split(now.key)
        order = jax.random.permutation(shuffle, setup.envs * setup.steps)
        parts = order.reshape(setup.minibatches, -1)
        batches = jax.tree.map(lambda x: x[parts], rows)
        return jax.lax.scan(minibatch, now._replace(key=key), batches)

    return jax.lax.scan(epoch, training, length=setup.epochs)[0]


def iterate(training: Training, setup: Setup) -> tuple[Training, jax.Array]:
    """Return what follows, and the mean length of the games that ended, or 0 if none did."""
    training, played = play(training, setup)
    advantage = advantages(played, values(training.params[1], observe(training.games)))
    rows = (played.seen, played.action, played.log_p, advantage, advantage + played.value)
    flat = jax.tree.map(lambda x: x.reshape(-1, *x.shape[2:]), rows)
    lengths = jnp.where(played.done, played.length, 0).sum()
    return learn(training, flat, setup), lengths / jnp.maximum(played.done.sum(), 1)


@partial(jax.jit, static_argnums=1)
def repeat(training: Training, setup: Setup, iterations: int) -> Training:
    """Return what is left after so many iterations: one program for any number of them."""
    return jax.lax.fori_loop(0, iterations, lambda _, now: iterate(now, setup)[0], training)


@partial(jax.jit, static_argnums=(1, 2))
def train(training: Training, setup: Setup, iterations: int) -> tuple[Training, jax.Array]:
    """Return what is left and known after so many iterations: one program, one call."""
    return jax.lax.scan(lambda now, _: iterate(now, setup), training, length=iterations)


def sampler(envs: int, steps: int) -> Callable[[], float]:
    setup = Setup(envs, steps)
    first = start(setup)

    def run(iterations: int) -> None:
        repeat(first, setup, iterations).count.block_until_ready()

    return rates(run, envs * steps)


def returns(envs: int, steps: int, iterations: int, seed: int) -> list[float]:
    """Return the mean length of finished games in every iteration of a whole training."""
    setup = Setup(envs, steps, updates=iterations)
    return [float(x) for x in train(start(setup, seed), setup, iterations)[1]]


def learning(envs: int, steps: int, updates: int) -> Callable[[], float]:
    return samples(lambda seed: returns(envs, steps, updates, seed))
