"""Values of a table of which every step changes one: Q-learning."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

import ostinato as ot
from bench.ours.called import called

ACTIONS, RATE, DISCOUNT = 6, 0.1, 0.95


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
