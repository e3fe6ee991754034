"""PPO on a game that is seen as images, in JAX: as the suite `ppo` has it, and by minibatches.

The peak is what XLA says that the compiled function takes: arguments, results and temporaries.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial

import jax
import jax.numpy as jnp

from bench.peers.in_jax.cartpole import Game, reset, step
from bench.peers.in_jax.ppo import (
    Batch,
    Net,
    Played,
    Setup,
    Training,
    adam,
    advantages,
    applied,
    learn,
    loss,
    values,
)

UPDATES = 2
SHARPNESS = 8.0
Learn = Callable[[Training, Batch, Setup], Training]


def observe(games: Game, side: int) -> jax.Array:
    places = (2.0 * jnp.arange(side) + 1.0) / side - 1.0
    across = jnp.exp(-SHARPNESS * jnp.square(places - games.motion[:, :1]))
    down = jnp.exp(-SHARPNESS * jnp.square(places - 4.0 * games.motion[:, 2:3]))
    spot = (down[:, :, None] * across[:, None, :]).reshape(-1, 1, side**2)
    return (jnp.array([1.0, 0.5, 0.25])[:, None] * spot).reshape(-1, 3 * side**2)


def net(key: jax.Array, inputs: int, outputs: int, hidden: int) -> Net:
    init, keys = jax.nn.initializers.orthogonal(2**0.5), jax.random.split(key, 2)
    sizes = (inputs, hidden), (hidden, outputs)
    return tuple((init(k, s), jnp.zeros(s[1])) for k, s in zip(keys, sizes, strict=True))


def start(setup: Setup, side: int) -> Training:
    key, actor, critic, games = jax.random.split(jax.random.key(0), 4)
    inputs = 3 * side**2
    params = net(actor, inputs, 2, setup.hidden), net(critic, inputs, 1, setup.hidden)
    zeros = jax.tree.map(jnp.zeros_like, params)
    return Training(params, zeros, zeros, jnp.zeros((), jnp.int32), reset(games, setup.envs), key)


def play(training: Training, setup: Setup, side: int) -> tuple[Training, Played]:
    actor, critic = training.params

    def one(carry: tuple[Game, jax.Array], _: None) -> tuple[tuple[Game, jax.Array], Played]:
        games, key = carry
        key, choose, again = jax.random.split(key, 3)
        seen = observe(games, side)
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


def by_minibatch(training: Training, rows: Batch, setup: Setup) -> Training:
    """The updates of `bench.peers.in_jax.ppo.learn`, of which one has its rows at a time."""
    rate = setup.learning_rate * (1.0 - training.count / (setup.minibatches * setup.updates))

    def epoch(now: Training, _: None) -> tuple[Training, None]:
        key, shuffle = jax.random.split(now.key)
        order = jax.random.permutation(shuffle, setup.envs * setup.steps)

        def minibatch(now: Training, part: jax.Array) -> tuple[Training, None]:
            batch = jax.tree.map(lambda x: x[part], rows)
            return adam(now, jax.grad(loss)(now.params, batch), rate), None

        return jax.lax.scan(minibatch, now._replace(key=key), order.reshape(setup.minibatches, -1))

    return jax.lax.scan(epoch, training, length=setup.epochs)[0]


def iterate(training: Training, setup: Setup, side: int, learnt: Learn) -> Training:
    training, played = play(training, setup, side)
    last = values(training.params[1], observe(training.games, side))
    advantage = advantages(played, last)
    rows = (played.seen, played.action, played.log_p, advantage, advantage + played.value)
    return learnt(training, jax.tree.map(lambda x: x.reshape(-1, *x.shape[2:]), rows), setup)


FORMS: dict[str, Learn] = {"plain": learn, "by minibatch": by_minibatch}


def ppo(
    side: int, hidden: int, envs: int, steps: int, epochs: int, form: str
) -> Callable[[], dict[str, float]]:
    """Return a sampler of steps of the game in a second, and of bytes by XLA's account."""
    setup = Setup(envs, steps, epochs, hidden=hidden)
    made = partial(iterate, setup=setup, side=side, learnt=FORMS[form])

    def updates(training: Training) -> Training:
        return jax.lax.fori_loop(0, UPDATES, lambda _, now: made(now), training)

    first = start(setup, side)
    compiled = jax.jit(updates).lower(first).compile()
    taken = compiled.memory_analysis()
    bytes_ = taken.argument_size_in_bytes + taken.output_size_in_bytes + taken.temp_size_in_bytes

    def sample() -> dict[str, float]:
        begun = time.perf_counter()
        compiled(first).count.block_until_ready()
        seconds = time.perf_counter() - begun
        rate = UPDATES * steps * envs / seconds
        return {"env_steps/s": rate, "peak_bytes": float(bytes_)}

    return sample
