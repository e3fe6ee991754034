"""Gymnasium's vector environments: NumPy where there is such a version, else one after another."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any, cast

import gymnasium

from bench.harness.timing import rates


def cartpole(envs: int, steps: int) -> Callable[[], float]:
    return speed("CartPole-v1", "vector_entry_point", envs, steps)


def pendulums(envs: int, steps: int) -> Callable[[], float]:
    return speed("Pendulum-v1", "sync", envs, steps)


def speed(name: str, mode: str, envs: int, steps: int) -> Callable[[], float]:
    warnings.simplefilter("ignore")
    games = gymnasium.make_vec(name, num_envs=envs, vectorization_mode=mode)
    games.reset(seed=0)
    space = cast(Any, games).action_space  # its type is not told
    actions = [space.sample() for _ in range(steps)]

    def run(rounds: int) -> None:
        for number in range(rounds):
            games.step(actions[number % steps])

    return rates(run, envs)
