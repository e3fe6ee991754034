"""Off-policy learning of one game: a step, then an update from replay."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from bench.harness.learning import samples
from bench.harness.timing import rates
from ostinato import rl


def dqn_of(batch: int, hidden: int, second: int, start: int = 1) -> rl.Training:
    return rl.dqn(
        rl.CartPole(), steps=1, lookahead=1, updates=1, batch=batch, window=10_000, start=start,
        hidden=(hidden, second),
    )  # fmt: skip


def sac_of(batch: int, hidden: int, start: int = 1) -> rl.Training:
    return rl.sac(
        rl.Pendulum(), steps=1, updates=1, batch=batch, window=20_000, start=start,
        hidden=(hidden, hidden),
    )  # fmt: skip


def speed(training: rl.Training, threads: int) -> Callable[[], float]:
    """Steps per second, which learn from the first one on."""
    run, arguments = training.program.compile(threads=threads), dict(training.arguments)
    return rates(lambda steps: run(**{**arguments, "I": steps}), 1)


def dqn(batch: int, hidden: int, second: int, threads: int = 0) -> Callable[[], float]:
    return speed(dqn_of(batch, hidden, second), threads)


def sac(batch: int, hidden: int, threads: int = 0) -> Callable[[], float]:
    return speed(sac_of(batch, hidden), threads)


def learnt(training: rl.Training, steps: int) -> Callable[[], float]:
    """The mean return of the last games of a training."""
    run, arguments = training.program.compile(), dict(training.arguments)

    def returns(seed: int) -> list[float]:
        found = run(seed=seed, **{**arguments, "I": steps})
        ended = found["episode_return"][found["episodes"] > 0]
        return [float(x) for x in ended.astype(np.float64)]

    return samples(returns)


def dqn_learning(batch: int, hidden: int, second: int, steps: int) -> Callable[[], float]:
    return learnt(dqn_of(batch, hidden, second, start=1000), steps)


def sac_learning(batch: int, hidden: int, steps: int) -> Callable[[], float]:
    return learnt(sac_of(batch, hidden, start=500), steps)
