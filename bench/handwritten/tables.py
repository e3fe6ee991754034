"""Q-learning and tile coding as one would write them by hand with Numba."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from bench.harness.timing import rates
from bench.ours.tables import DISCOUNT, RATE, STEP, tiles, world
from ostinato.codegen.cpu.numba_door import njit

Numbers = npt.NDArray[np.float32]


@njit()
def learnt(
    leads: npt.NDArray[np.int32],
    earns: Numbers,
    explores: npt.NDArray[np.bool_],
    any_action: npt.NDArray[np.int32],
) -> tuple[np.float32, Numbers]:
    value, at, total = np.zeros_like(earns), np.int32(0), np.float32(0)
    for t in range(len(explores)):
        action = any_action[t]
        if not explores[t]:  # a loop is faster than argmax of six
            action = np.int32(0)
            for a in range(1, value.shape[1]):
                if value[at, a] > value[at, action]:
                    action = np.int32(a)
        following = leads[at, action]
        best = value[following, 0]
        for a in range(1, value.shape[1]):
            best = max(best, value[following, a])
        total += earns[at, action]
        target = earns[at, action] + np.float32(DISCOUNT) * best
        value[at, action] += np.float32(RATE) * (target - value[at, action])
        at = following
    return total, value


def q_learning(places: int, steps: int) -> Callable[[], float]:
    given = [*world(places, steps).values()]

    def run(iterations: int) -> None:
        for _ in range(iterations):
            learnt(*given)

    return rates(run, steps)


@njit()
def foretold(tile: npt.NDArray[np.int32], reward: Numbers, weights: int) -> tuple[object, Numbers]:
    weight, total = np.zeros(weights, np.float32), np.float32(0)
    for t in range(len(reward)):
        value, following = np.float32(0), np.float32(0)
        for k in range(tile.shape[1]):
            value += weight[tile[t, k]]
            following += weight[tile[min(t + 1, len(reward) - 1), k]]
        total += value
        error = reward[t] + np.float32(DISCOUNT) * following - value
        for k in range(tile.shape[1]):
            weight[tile[t, k]] += np.float32(STEP) * error
    return total, weight


def tile_coding(weights: int, steps: int) -> Callable[[], float]:
    given = [*tiles(weights, steps).values()]

    def run(iterations: int) -> None:
        for _ in range(iterations):
            foretold(*given, weights)

    return rates(run, steps)
