"""PPO on a game that is seen as images, in JAX: as the suite `ppo` has it, and by minibatches.

The peak is what XLA says that the compiled function takes: arguments, results and temporaries.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial

import jax
import jax.numpy as jnp

from bench.peers.in_jax.cartpole import Game
from bench.peers.in_jax.ppo import (
    Batch,
    Setup,
    Training,
    adam,
    advantages,
    learn,
    loss,
    play,
    start,
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
    seen = partial(observe, side=side)
    training, played = play(training, setup, seen)
    last = values(training.params[1], seen(training.games))
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

    first = start(setup, 0, 3 * side**2, hidden)
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
