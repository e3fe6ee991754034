"""Environments of equations as those of Gymnasium: one game, or a vector of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from ostinato.compiler.program import Program
from ostinato.language.dims import dims
from ostinato.language.record import Record
from ostinato.language.recurrent import input
from ostinato.language.tensor import Tensor
from ostinato.pdg.functions import Array
from ostinato.rl.environments.environment import Actions, Discrete, Env

if TYPE_CHECKING:
    pass

State = Mapping[str, Array]
Step = tuple[dict[str, Array], Array, Array, Array, Array]


class Stepped:
    """An environment whose states are arrays of games: compiled functions of a step and a reset.

    Every call draws with a seed of its own, which follow from the one that was given last.
    """

    def __init__(self, env: Env[Actions]) -> None:
        game = dims("game")
        kinds = env.state.fields
        state = {n: input(f"state_{n}", x.shape, x.dtype, over=game) for n, x in kinds.items()}
        actions = env.actions
        shape, dtype = ((), "int32") if isinstance(actions, Discrete) else ((actions.size,), "float32")
        action = input("action", shape, dtype, over=game)  # type: ignore[arg-type]  # two names
        first = env.reset(over=game)
        following, reward, terminated, truncated = env.step(Record(**state), action)
        told = {"reward": reward, "terminated": terminated, "truncated": truncated}
        self._kinds = kinds
        self._reset = _Function(Program(**_told(first), seen=env.observe(first)))
        self._step = _Function(Program(**_told(following), **told, seen=env.observe(following)))
        self._seen_shape = env.observation_shape
        self._rng = np.random.default_rng()

    def seed(self, seed: int | None) -> None:
        """Let the draws follow from a seed; None: from nothing that is known."""
        self._rng = np.random.default_rng(seed)

    def begin(self, count: int) -> tuple[dict[str, Array], Array]:
        """Return so many first states, and what is seen in them."""
        found = self._reset(count, self._drawn())
        return self._state(found, count), self._seen(found, count)

    def step(self, state: State, action: Array) -> Step:
        """Return the next states, what is seen, rewards, which terminated, and which were cut."""
        count = len(action)
        given = {f"state_{name}": array for name, array in state.items()}
        found = self._step(count, self._drawn(), action=action, **given)
        reward, terminated, truncated = (
            np.broadcast_to(found[name], (count,)) for name in ("reward", "terminated", "truncated")
        )
        seen = self._seen(found, count)
        return self._state(found, count), seen, reward, terminated, truncated

    def _drawn(self) -> int:
        return int(self._rng.integers(2**63))

    def _state(self, found: State, count: int) -> dict[str, Array]:
        return {
            name: np.broadcast_to(found[f"state_{name}"], (count, *map(int, x.shape))).astype(x.dtype)
            for name, x in self._kinds.items()
        }

    def _seen(self, found: State, count: int) -> Array:
        seen: Array = np.broadcast_to(found["seen"], (count, *self._seen_shape)).astype(np.float32)
        return seen


class _Function:
    """A compiled program of games, given what it takes."""

    def __init__(self, program: Program) -> None:
        self._run, self._takes = program.compile(), {*program.inputs, *program.extents}

    def __call__(self, count: int, seed: int, **arguments: Array) -> Mapping[str, Array]:
        given = {"GAME": count, **arguments}
        taken = {name: x for name, x in given.items() if name in self._takes}
        return self._run(seed=seed, **taken)


def _told(state: Record) -> dict[str, Tensor]:
    return {f"state_{name}": x for name, x in state.fields.items()}
