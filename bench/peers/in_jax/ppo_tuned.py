"""The PPO of `bench.peers.in_jax.ppo`, tuned: both cores, no sort, one gather per epoch.

Half of the games live on each of two devices of the host; gradients, and the moments of advantages,
are means over both. Rows are shuffled within a device by a bijection of their numbers, and lie
packed in one array.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import jax
import jax.numpy as jnp
from jax.sharding import AxisType, PartitionSpec

from bench.harness.learning import samples
from bench.harness.timing import rates
from bench.peers.in_jax.cartpole import observe
from bench.peers.in_jax.ppo import (
    Params,
    Setup,
    Training,
    adam,
    advantages,
    applied,
    play,
    start,
    values,
)

CORES, CORE = 2, "core"


def order(key: jax.Array, count: int) -> jax.Array:
    """Return the numbers below a power of two in an order drawn without sorting.

    Three rounds of an odd factor, a summand and a shift, each of which can be undone.
    """
    bits = count.bit_length() - 1
    if count != 1 << bits:
        raise ValueError(f"{count} rows on each core are no power of two")
    factors, summands = jax.random.bits(key, (2, 3), jnp.uint32)
    x = jnp.arange(count, dtype=jnp.uint32)
    for factor, summand in zip(factors, summands, strict=True):
        x = (x * (factor | 1) + summand) & (count - 1)
        x = x ^ (x >> (bits // 2 + 1))
    return x


def loss(params: Params, rows: jax.Array) -> jax.Array:
    """The loss of the rows of this core."""
    seen, (action, before, advantage, target) = rows[:, :4], rows[:, 4:].T
    logits = jax.nn.log_softmax(applied(params[0], seen))
    log_p = jnp.where(action > 0.5, logits[:, 1], logits[:, 0])
    ratio = jnp.exp(log_p - before)
    mean = jax.lax.pmean(advantage.mean(), CORE)
    deviation = jnp.sqrt(jax.lax.pmean(((advantage - mean) ** 2).mean(), CORE))
    weight = (advantage - mean) / (deviation + 1e-8)
    gain = jnp.minimum(ratio * weight, jnp.clip(ratio, 0.8, 1.2) * weight).mean()
    entropy = -(jnp.exp(logits) * logits).sum(-1).mean()
    error = ((values(params[1], seen) - target) ** 2).mean()
    return 0.5 * error - gain - 0.01 * entropy


def learn(training: Training, rows: jax.Array, setup: Setup) -> Training:
    iteration = training.count // (setup.epochs * setup.minibatches)
    rate = setup.learning_rate * (1.0 - iteration / setup.updates)

    def minibatch(now: Training, batch: jax.Array) -> tuple[Training, None]:
        return adam(now, jax.lax.pmean(jax.grad(loss)(now.params, batch), CORE), rate), None

    def epoch(now: Training, _: None) -> tuple[Training, None]:
        key, shuffle = jax.random.split(now.key)
        batches = rows[order(shuffle, len(rows))].reshape(setup.minibatches, -1, rows.shape[1])
        return jax.lax.scan(minibatch, now._replace(key=key), batches)

    return jax.lax.scan(epoch, training, length=setup.epochs)[0]


def iterate(training: Training, setup: Setup) -> tuple[Training, jax.Array]:
    """Return what follows on this core, and the mean length of all games that ended, or 0."""
    training, played = play(training, setup)
    advantage = advantages(played, values(training.params[1], observe(training.games)))
    columns = (played.action, played.log_p, advantage, advantage + played.value)
    parts = [played.seen, *(jnp.asarray(x, jnp.float32)[..., None] for x in columns)]
    rows = jnp.concatenate(parts, -1).reshape(-1, 8)
    lengths = jnp.where(played.done, played.length, 0).sum()
    total, count = jax.lax.psum((lengths, played.done.sum()), CORE)
    return learn(training, rows, setup), total / jnp.maximum(count, 1)


SHARED, SPLIT = PartitionSpec(), PartitionSpec(CORE)
PLACES = Training(SHARED, SHARED, SHARED, SHARED, SPLIT, SPLIT)


def on_cores(run: Callable[[Training], object], results: object) -> Callable[[Training], object]:
    """Return a function that runs on every core with its games and its key."""

    def one(training: Training) -> object:
        found = run(training._replace(key=training.key[0]))
        if isinstance(found, Training):
            return found._replace(key=found.key[None])
        return found

    mesh = jax.make_mesh((CORES,), (CORE,), axis_types=(AxisType.Auto,))
    return jax.shard_map(one, mesh=mesh, in_specs=(PLACES,), out_specs=results, check_vma=False)


def started(setup: Setup, seed: int = 0) -> Training:
    """Return the first state, with a key for each core."""
    first = start(setup, seed)
    return first._replace(key=jax.random.split(first.key, CORES))


def own(setup: Setup) -> Setup:
    """The games of one core."""
    return Setup(setup.envs // CORES, setup.steps, updates=setup.updates)


@partial(jax.jit, static_argnums=1)
def repeat(training: Training, setup: Setup, iterations: int) -> Training:
    """Return what is left after so many iterations: one program for any number of them."""

    def run(now: Training) -> Training:
        mine = own(setup)
        return jax.lax.fori_loop(0, iterations, lambda _, x: iterate(x, mine)[0], now)

    return on_cores(run, PLACES)(training)


@partial(jax.jit, static_argnums=(1, 2))
def train(training: Training, setup: Setup, iterations: int) -> jax.Array:
    """Return the mean lengths of so many iterations."""

    def run(now: Training) -> jax.Array:
        mine = own(setup)
        return jax.lax.scan(lambda x, _: iterate(x, mine), now, length=iterations)[1]

    return on_cores(run, SHARED)(training)


def sampler(envs: int, steps: int) -> Callable[[], float]:
    jax.config.update("jax_num_cpu_devices", CORES)
    setup = Setup(envs, steps)
    first = started(setup)

    def run(iterations: int) -> None:
        repeat(first, setup, iterations).count.block_until_ready()

    return rates(run, envs * steps)


def returns(envs: int, steps: int, iterations: int, seed: int) -> list[float]:
    """Return the mean length of finished games in every iteration of a whole training."""
    setup = Setup(envs, steps, updates=iterations)
    return [float(x) for x in train(started(setup, seed), setup, iterations)]


def learning(envs: int, steps: int, updates: int) -> Callable[[], float]:
    jax.config.update("jax_num_cpu_devices", CORES)
    return samples(lambda seed: returns(envs, steps, updates, seed))
