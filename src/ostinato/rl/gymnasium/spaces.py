"""What Gymnasium's spaces are here: sizes of observations, and what actions may be."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

from ostinato.pdg.errors import ArgumentError, optional
from ostinato.pdg.functions import Array
from ostinato.rl.environments.environment import Actions, Box, Discrete, Discretes


@dataclass(frozen=True)
class ActionSpace:
    """What an agent may do, and how that is said to the environment."""

    actions: Actions
    to_theirs: Callable[[Array], Array]


def action_space(space: Any, name: str) -> ActionSpace:
    """Return the actions of a space of Gymnasium.

    Vectors whose bounds differ from element to element are chosen from -1 to 1, and stretched.

    Errors: ArgumentError for another space than numbers, one or several, and bounded vectors.
    """
    spaces = optional("gymnasium.spaces", "gym")
    if isinstance(space, spaces.Discrete):
        start, dtype = int(space.start), space.dtype
        return ActionSpace(Discrete(int(space.n)), lambda a: (a + start).astype(dtype))
    if isinstance(space, spaces.MultiDiscrete | spaces.MultiBinary):
        return _numbers(space)
    if isinstance(space, spaces.Box) and np.isfinite([space.low, space.high]).all():
        return _vectors(space)
    fact = f"`{name}` has actions {space}"
    remedy = "Wrap it so that they are numbered, or vectors with bounds (gymnasium.wrappers)."
    raise ArgumentError(fact, remedy)


def _numbers(space: Any) -> ActionSpace:
    """Several numbers at once, each from its own start; switches are numbers 0 and 1."""
    shape: tuple[int, ...] = space.shape
    counts: Array = getattr(space, "nvec", np.full(shape, 2))
    start: Array = np.asarray(getattr(space, "start", 0))
    actions = Discretes(tuple(int(n) for n in counts.flat))
    return ActionSpace(actions, lambda a: (a.reshape(-1, *shape) + start).astype(space.dtype))


def _vectors(space: Any) -> ActionSpace:
    low: Array = space.low
    high: Array = space.high
    shape: tuple[int, ...] = space.shape
    size, dtype = prod(shape), space.dtype
    if (low == low.flat[0]).all() and (high == high.flat[0]).all():
        actions = Box(size, float(low.flat[0]), float(high.flat[0]))
        return ActionSpace(actions, lambda a: a.reshape(-1, *shape).astype(dtype))
    half, middle = (high - low) / 2.0, (high + low) / 2.0

    def stretched(a: Array) -> Array:
        found: Array = (middle + half * a.reshape(-1, *shape)).astype(dtype)
        return found

    return ActionSpace(Box(size, -1.0, 1.0), stretched)


def shape_of(space: Any, name: str) -> tuple[int, ...]:
    """Return the shape of observations, once they are flattened.

    Errors: ArgumentError for those of no fixed number of numbers, or of none.
    """
    shape: tuple[int, ...] | None = space.shape
    if shape is None or 0 in shape:
        fact = f"`{name}` has observations {space}"
        remedy = "Wrap it so that they are so many numbers each time (gymnasium.wrappers)."
        raise ArgumentError(fact, remedy)
    return tuple(shape) or (1,)


def is_array(space: Any) -> bool:
    """Whether observations are arrays already; others are flattened."""
    return isinstance(space, optional("gymnasium.spaces", "gym").Box)
