"""An environment of equations that Python steps: compiled programs of a step and of a reset."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from ostinato.compiler.program import Program
from ostinato.language.dims import dims
from ostinato.language.record import Record
from ostinato.language.recurrent import input
from ostinato.language.tensor import Tensor
from ostinato.pdg.functions import Array
from ostinato.rl.environments.environment import Actions, Env, stepped

State = Mapping[str, Array]


class Seen(NamedTuple):
    """States of games as arrays, and what is seen in them."""

    state: dict[str, Array]
    seen: Array


class Results(NamedTuple):
    """What a step of games led to."""

    after: Seen
    reward: Array
    terminated: Array
    truncated: Array


class Stepped:
    """An environment whose states are arrays of games. Every call draws with a given seed."""

    def __init__(self, env: Env[Actions]) -> None:
        game, actions = dims("game"), env.actions
        self._kinds, self._seen_shape = env.state.fields, env.observation_shape
        state = {
            n: input(f"state_{n}", x.shape, x.dtype, over=game) for n, x in self._kinds.items()
        }
        action = input("action", actions.shape, actions.dtype, over=game)
        first = env.reset(over=game)
        following, reward, terminated, truncated = stepped(env, Record(**state), action)
        told = {"reward": reward, "terminated": terminated, "truncated": truncated}
        self._reset = _Function(Program(**_named(first), seen=env.observe(first)))
        self._step = _Function(Program(**_named(following), **told, seen=env.observe(following)))

    def begin(self, count: int, seed: int) -> Seen:
        """Return so many first states."""
        return self._after(self._reset(count, seed), count)

    def step(self, state: State, action: Array, seed: int) -> Results:
        """Return what the next states are, rewards, which terminated, and which were cut."""
        count = len(action)
        given = {f"state_{name}": array for name, array in state.items()}
        found = self._step(count, seed, action=action, **given)
        results = (found[name] for name in ("reward", "terminated", "truncated"))
        return Results(self._after(found, count), *results)

    def _after(self, found: State, count: int) -> Seen:
        state = {
            name: np.broadcast_to(found[f"state_{name}"], (count, *map(int, kind.shape)))
            for name, kind in self._kinds.items()
        }
        seen = np.broadcast_to(found["seen"], (count, *self._seen_shape))
        return Seen(state, seen.astype(np.float32))


class _Function:
    """A compiled program of games, given what it takes."""

    def __init__(self, program: Program) -> None:
        self._run, self._takes = program.compile(), {*program.inputs, *program.extents}

    def __call__(self, count: int, seed: int, **arguments: Array) -> Mapping[str, Array]:
        given = {"GAME": count, **arguments}
        taken = {name: x for name, x in given.items() if name in self._takes}
        return self._run(seed=seed, **taken)


def _named(state: Record) -> dict[str, Tensor]:
    return {f"state_{name}": x for name, x in state.fields.items()}
