"""EnvPool: C++ environments on a pool of threads, stepped all at once from Python."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable

import envpool
import numpy as np

from bench.harness.timing import rates


def cartpole(envs: int, steps: int) -> Callable[[], float]:
    rng = np.random.default_rng(0)
    return speed("CartPole-v1", [rng.integers(0, 2, envs) for _ in range(steps)])


def pendulums(envs: int, steps: int) -> Callable[[], float]:
    rng = np.random.default_rng(0)
    drawn = [rng.uniform(-2, 2, (envs, 1)).astype(np.float32) for _ in range(steps)]
    return speed("Pendulum-v1", drawn)


def speed(name: str, actions: list[np.ndarray]) -> Callable[[], float]:
    warnings.simplefilter("ignore")
    envs, threads = len(actions[0]), len(os.sched_getaffinity(0))
    games = envpool.make_gymnasium(name, num_envs=envs, num_threads=threads)
    games.reset()

    def run(rounds: int) -> None:
        for number in range(rounds):
            games.step(actions[number % len(actions)])

    return rates(run, envs)
