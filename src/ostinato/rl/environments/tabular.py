"""Environments with finitely many places, given by tables."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ostinato.language import random
from ostinato.language.functions.basic import one_hot, take
from ostinato.language.kinds import Count
from ostinato.language.record import Record
from ostinato.language.recurrent import Over
from ostinato.language.tensor import Tensor, as_tensor, constant
from ostinato.pdg.errors import ArgumentError, ShapeError
from ostinato.provenance.place import place
from ostinato.rl.environments.environment import Discrete, Game

Array = npt.NDArray[np.generic]


@dataclass(frozen=True, slots=True)
class Transitions:
    """What each action does in each place: so many outcomes, of which one is drawn.

    Shapes: each (places, actions, outcomes); the probabilities of outcomes add up to 1.
    """

    following: npt.NDArray[np.int32]
    reward: npt.NDArray[np.float32]
    terminates: npt.NDArray[np.bool_]
    probability: npt.NDArray[np.float64]


class Tabular(Game):
    """An environment of numbered places.

    The state is ``place``, a number, and ``steps``. What is observed is the place as a row of
    zeros with a one. Episodes begin in a place drawn with the probabilities ``start``, and are cut
    after ``max_steps``.

    Shapes: start (places,).
    Errors: ShapeError if tables do not fit; ArgumentError for probabilities that do not add up to 1
    and for places that do not exist.

    >>> import ostinato as ot
    >>> from ostinato import rl
    >>> b = ot.dims("b")
    >>> lake = rl.FrozenLake(slippery=False)
    >>> start = lake.reset(over=b)
    >>> following, reward, terminated, truncated = lake.step(start, ot.constant(1))
    >>> ot.Program(place=following.place).interpret(B=2)["place"].tolist()
    [4, 4]
    """

    def __init__(
        self, transitions: Transitions, start: npt.NDArray[np.float64], max_steps: Count
    ) -> None:
        places, actions, outcomes = _checked(transitions, start)
        self.transitions = transitions
        self.observation_shape = (places,)
        self.actions = Discrete(actions)
        self._outcomes = outcomes
        self._max_steps = max_steps
        self._start = _bounds(start[None])[0]

    def reset(self, over: Over) -> Record:
        """Return a place where episodes begin, at every point of ``over``."""
        drawn = random.uniform(over=over, dtype="float64")
        found = (drawn[..., None] >= constant(self._start, "float64")).sum(-1)
        return Record(place=found, steps=as_tensor(0))

    def observe(self, state: Record) -> Tensor:
        """Return the place as a row of zeros with a one."""
        return one_hot(state.place, self.observation_shape[0])

    def step(self, state: Record, action: Tensor) -> tuple[Record, Tensor, Tensor, Tensor]:
        """Return the next state, the reward, whether it terminated, and whether it was cut."""
        known = self.transitions
        row = state.place * self.actions.count + action
        drawn = row * self._outcomes + self._outcome(row)

        def found(table: Array) -> Tensor:
            return take(constant(table.ravel()), drawn, 0)

        steps = state.steps + 1
        following = Record(place=found(known.following), steps=steps)
        truncated = steps >= self._max_steps
        return following, found(known.reward), found(known.terminates), truncated

    def _outcome(self, row: Tensor) -> Tensor | int:
        """The number of the outcome of a row of the tables."""
        if self._outcomes == 1:
            return 0
        shape = (-1, self._outcomes)
        bounds = constant(_bounds(self.transitions.probability.reshape(shape)), "float64")
        drawn = random.uniform(over=row.over, dtype="float64")
        return (drawn[..., None] >= take(bounds, row, 0)).sum(-1)


def _bounds(probability: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Where the numbers of each outcome but the first begin among those from 0 to 1."""
    ends = np.cumsum(probability, -1)
    return ends[:, :-1] / ends[:, -1:]  # exactly 1 behind the last one that may occur


def _checked(known: Transitions, start: npt.NDArray[np.float64]) -> tuple[int, int, int]:
    shape = known.following.shape
    others = {known.reward.shape, known.terminates.shape, known.probability.shape}
    if len(shape) != 3 or others != {shape} or start.shape != shape[:1]:
        fact = f"transitions of shapes {sorted({shape, *others})}, starts of shape {start.shape}"
        remedy = "Give tables of (places, actions, outcomes), and a probability for each place."
        raise ShapeError(fact, remedy, place())
    for what, row in (("outcomes", known.probability), ("starts", start)):
        if row.dtype.kind not in "fiu" or not np.allclose(row.sum(-1), 1.0) or row.min() < 0:
            fact = f"probabilities of {what} that are not from 0 on, or do not add up to 1"
            raise ArgumentError(fact, "Divide them by their sum.", place())
    if known.following.min() < 0 or known.following.max() >= shape[0]:
        fact = f"transitions to places from {known.following.min()} to {known.following.max()}"
        raise ArgumentError(fact, f"Number the {shape[0]} places from 0.", place())
    return shape[0], shape[1], shape[2]
