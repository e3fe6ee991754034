"""Environments of equations as those of Gymnasium: one game, or a vector of them.

This module needs Gymnasium; `to_gymnasium` and `to_gymnasium_vector` import it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import gymnasium
import numpy as np
from gymnasium import spaces
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space

from ostinato.compiler.program import Program
from ostinato.language.dims import dims
from ostinato.language.record import Record
from ostinato.language.recurrent import input
from ostinato.language.tensor import Tensor
from ostinato.pdg.errors import ArgumentError
from ostinato.pdg.functions import Array
from ostinato.provenance.place import place
from ostinato.rl.drawing.canvas import Picture
from ostinato.rl.drawing.film import frames
from ostinato.rl.environments.environment import Actions, Discrete, Discretes, Env, stepped

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


SEEDS = 2**63
Info = dict[str, Any]
Space = spaces.Space[Any]


def observation_space(env: Env[Actions]) -> Space:
    """Return the space of what an agent sees: numbers without bounds."""
    return spaces.Box(-np.inf, np.inf, env.observation_shape, np.float32)


def space_of(actions: Actions) -> Space:
    """Return the space of actions."""
    if isinstance(actions, Discrete):
        return spaces.Discrete(actions.count)
    if isinstance(actions, Discretes):
        return spaces.MultiDiscrete(list(actions.sizes))
    return spaces.Box(actions.low, actions.high, (actions.size,), np.float32)


def ours(env: Env[Actions], given: Any, games: tuple[int, ...] = ()) -> Array:
    """Return an action in our types, or one for each of so many games.

    Errors: ArgumentError for another shape or type, and for a number that is no action.
    """
    space, actions = space_of(env.actions), np.asarray(given)
    shape = (*games, *(space.shape or ()))
    remedy = f"Give one of {space}" + (f" for each of {games[0]} games." if games else ".")
    kinds = "iub" if _is_counted(space) else "iubf"
    if actions.shape != shape or actions.dtype.kind not in kinds:
        wanted = f"not shape {shape} and {'whole' if _is_counted(space) else 'real'} numbers"
        fact = f"actions have shape {actions.shape} and type {actions.dtype}, {wanted}"
        raise ArgumentError(fact, remedy, place())
    if _is_counted(space):
        counts: Array = np.asarray(getattr(space, "nvec", getattr(space, "n", 0)))
        wrong = actions[(actions < 0) | (actions >= counts)]
        if wrong.size:
            raise ArgumentError(f"an action is {wrong.flat[0]}", remedy, place())
    return actions.astype(env.actions.dtype)


def _is_counted(space: Space) -> bool:
    return isinstance(space, spaces.Discrete | spaces.MultiDiscrete)


class SingleGame(gymnasium.Env[Array, Any]):
    """One game of an environment of equations, for Gymnasium."""

    metadata: dict[str, Any] = {"render_modes": ["rgb_array"], "render_fps": 30}

    def __init__(self, env: Env[Actions], render_mode: str | None = None) -> None:
        self._env, self._stepped = env, Stepped(env)
        self._now: Seen | None = None
        self.render_mode = render_mode
        self.observation_space, self.action_space = observation_space(env), space_of(env.actions)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Array, Info]:
        """Begin a game, whose draws follow from the seed if there is one."""
        super().reset(seed=seed)
        self._now = self._stepped.begin(1, self._drawn())
        return self._now.seen[0], {}

    def step(self, action: Any) -> tuple[Array, float, bool, bool, Info]:
        """Step the game.

        Errors: ArgumentError before the first reset, and for what is no action.
        """
        given = ours(self._env, action)[None]
        found = self._stepped.step(self._begun().state, given, self._drawn())
        self._now = found.after
        ends = bool(found.terminated[0]), bool(found.truncated[0])
        return found.after.seen[0], float(found.reward[0]), *ends, {}

    def render(self) -> Picture | None:
        """Return a picture of the state, if it was made with ``render_mode="rgb_array"``."""
        if self.render_mode is None:
            return None
        state = self._begun().state
        return frames(self._env, [{name: array[0] for name, array in state.items()}])[0]

    def _drawn(self) -> int:
        return int(self.np_random.integers(SEEDS))

    def _begun(self) -> Seen:
        if self._now is None:
            fact = "a game that did not begin is stepped or drawn"
            raise ArgumentError(fact, "Call reset().", place())
        return self._now


class VectorOfGames(VectorEnv[Array, Any, Array]):
    """So many games of an environment of equations, stepped by one compiled program."""

    def __init__(self, env: Env[Actions], count: int, mode: AutoresetMode) -> None:
        self._env, self._stepped, self.num_envs = env, Stepped(env), count
        self._now: Seen | None = None
        self._over: Array = np.zeros(count, np.bool_)
        self.mode = mode
        self.metadata = {"autoreset_mode": mode}
        seen, actions = observation_space(env), space_of(env.actions)
        self.single_observation_space, self.single_action_space = seen, actions
        self.observation_space = batch_space(seen, count)
        self.action_space = batch_space(actions, count)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Array, Info]:
        """Begin all games, or those of the option `reset_mask`."""
        super().reset(seed=seed)
        every = np.ones(self.num_envs, np.bool_)
        which: Array = np.asarray((options or {}).get("reset_mask", every))
        if which.shape != every.shape or which.dtype != np.bool_:
            fact = f"`reset_mask` has shape {which.shape} and type {which.dtype}"
            raise ArgumentError(fact, f"Give {self.num_envs} booleans.", place())
        self._now = self._begun(which)
        self._over = self._over & ~which
        return self._now.seen, {}

    def step(self, actions: Any) -> tuple[Array, Array, Array, Array, Info]:
        """Step all games; those that ended begin again as `mode` says.

        Errors: ArgumentError before the first reset, for what is no action, and for games that
        ended, if none begins again by itself.
        """
        if self._now is None:
            raise ArgumentError("games that did not begin are stepped", "Call reset().", place())
        before, disabled = self._over, self.mode == AutoresetMode.DISABLED
        if disabled and before.any():
            fact = f"{int(before.sum())} games that ended are stepped"
            remedy = 'Call reset(options={"reset_mask": terminated | truncated}).'
            raise ArgumentError(fact, remedy, place())
        found = self._stepped.step(
            self._now.state, ours(self._env, actions, (self.num_envs,)), self._drawn()
        )
        self._now, about = found.after, Info()
        reward, terminated, truncated = found.reward, found.terminated, found.truncated
        if self.mode == AutoresetMode.NEXT_STEP and before.any():
            self._now = self._begun(before)
            reward = np.where(before, 0.0, reward)
            terminated, truncated = terminated & ~before, truncated & ~before
        self._over = terminated | truncated
        if self.mode == AutoresetMode.SAME_STEP and self._over.any():
            about = _last(self._now.seen, self._over)
            self._now, self._over = self._begun(self._over), np.zeros_like(before)
        return self._now.seen, reward.astype(np.float64), terminated, truncated, about

    def _begun(self, which: Array) -> Seen:
        """The games, of which some begin."""
        fresh, now = self._stepped.begin(self.num_envs, self._drawn()), self._now
        if now is None or which.all():
            return fresh

        def chosen(new: Array, old: Array) -> Array:
            return np.where(which.reshape(-1, *(1,) * (new.ndim - 1)), new, old)

        state = {name: chosen(array, now.state[name]) for name, array in fresh.state.items()}
        return Seen(state, chosen(fresh.seen, now.seen))

    def _drawn(self) -> int:
        return int(self.np_random.integers(SEEDS))


def _last(seen: Array, over: Array) -> Info:
    """What was seen last in games that ended, as Gymnasium tells of it."""
    final = np.full(len(over), None, dtype=object)
    for k in np.flatnonzero(over):
        final[k] = seen[k]
    return {"final_obs": final, "_final_obs": over}
