"""Values of a table of which every step changes one or a few: Q-learning, tile coding."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

import ostinato as ot
from bench.ours.called import called

ACTIONS, RATE, DISCOUNT = 6, 0.1, 0.95
TILINGS, STEP = 8, 0.0125


def world(places: int, steps: int) -> dict[str, npt.NDArray[np.generic]]:
    """Where actions lead, what they earn, at which steps any is taken, and which."""
    rng = np.random.default_rng(0)
    return {
        "leads": rng.integers(0, places, (places, ACTIONS)).astype(np.int32),
        "earns": rng.normal(size=(places, ACTIONS)).astype(np.float32),
        "explores": rng.random(steps) < 0.1,
        "any_action": rng.integers(0, ACTIONS, steps).astype(np.int32),
    }


def learning(places: int) -> ot.Program:
    """What is earned, and the values of all actions in the end.

    Source: Watkins and Dayan 1992, Q-learning.
    """
    t = ot.dims("t")
    leads = ot.input("leads", (places, ACTIONS), dtype="int32")
    earns = ot.input("earns", (places, ACTIONS))
    explores = ot.input("explores", dtype="bool", over=t)
    any_action = ot.input("any_action", dtype="int32", over=t)
    at = ot.carry("at", 0, over=t)
    value = ot.carry("value", ot.zeros((places, ACTIONS)), over=t)
    action = ot.where(explores, any_action, value.take(at, axis=0).argmax(-1))
    following = leads.take(at, axis=0).take(action, axis=0)
    earned = earns.take(at, axis=0).take(action, axis=0)
    target = earned + DISCOUNT * value.take(following, axis=0).max(-1)
    here = (ot.arange(places)[:, None] == at) & (ot.arange(ACTIONS) == action)
    value.step(ot.where(here, value + RATE * (target - value), value))
    at.step(following)
    return ot.Program(earned=earned[:].sum(), value=value.final)


def q_learning(places: int, steps: int, threads: int = 0) -> Callable[[], float]:
    return called(learning(places), world(places, steps), steps, threads)


def tiles(weights: int, steps: int) -> dict[str, npt.NDArray[np.generic]]:
    """The tiles of every step, one of each tiling, and what is earned after it."""
    rng = np.random.default_rng(0)
    each = weights // TILINGS
    found = rng.integers(0, each, (steps, TILINGS)) + each * np.arange(TILINGS)
    return {"tile": found.astype(np.int32), "reward": rng.normal(size=steps).astype(np.float32)}


def coding(weights: int) -> ot.Program:
    """What is foretold of every step, added up, and the weights in the end.

    Source: Sutton and Barto 2018, semi-gradient TD(0) with tile coding.
    """
    t = ot.dims("t")
    tile = ot.input("tile", (TILINGS,), dtype="int32", over=t)
    reward = ot.input("reward", over=t)
    weight = ot.carry("weight", ot.zeros(weights), over=t)
    value = weight.take(tile, axis=0).sum()
    following = weight.take(tile[ot.minimum(t + 1, t.size - 1)], axis=0).sum()
    error = reward + DISCOUNT * following - value
    weight.step(weight + ot.scatter_add(STEP * error, tile, weights))
    return ot.Program(value=value[:].sum(), weight=weight.final)


def tile_coding(weights: int, steps: int, threads: int = 0) -> Callable[[], float]:
    return called(coding(weights), tiles(weights, steps), steps, threads)
