"""Games of Gymnasium or EnvPool that are stepped together, and begin again where they end."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from math import prod
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from ostinato.pdg.errors import ArgumentError, optional
from ostinato.pdg.functions import Array
from ostinato.rl.gymnasium.spaces import is_array

Mode = Literal["sync", "async", "envpool"]
Make = Callable[[], Any]  # an environment of Gymnasium


class Games(ABC):
    """So many games. One that ended begins again in the same step."""

    def __init__(self, count: int) -> None:
        self.count = count

    @abstractmethod
    def reset(self, seeds: Array) -> Array:
        """Begin all games, and return what is seen."""

    @abstractmethod
    def step(self, actions: Array) -> Array:
        """Return a row of every game, as `rows` makes them."""

    @abstractmethod
    def close(self) -> None:
        """Give back what the games hold."""


def rows(seen: npt.ArrayLike, fresh: npt.ArrayLike, *results: npt.ArrayLike) -> Array:
    """Return what is seen, what the next step begins with, reward, terminated, truncated.

    Each has a row for every game; what is seen is made flat.
    """
    last = np.asarray(seen, np.float32)
    count, n = len(last), prod(last.shape[1:])
    out = np.empty((count, 2 * n + len(results)), np.float32)
    out[:, :n] = last.reshape(count, n)
    out[:, n : 2 * n] = np.asarray(fresh, np.float32).reshape(count, n)
    for k, result in enumerate(results, 2 * n):
        out[:, k] = result
    return out


class HereGames(Games):
    """Games of Gymnasium in this process, one after the other."""

    def __init__(self, make: Make, count: int) -> None:
        super().__init__(count)
        self._envs = [make() for _ in range(count)]

    def reset(self, seeds: Array) -> Array:
        pairs = zip(self._envs, seeds.tolist(), strict=True)
        return np.array([env.reset(seed=seed)[0] for env, seed in pairs], np.float32)

    def step(self, actions: Array) -> Array:
        every: list[tuple[Any, ...]] = []
        for env, action in zip(self._envs, actions, strict=True):
            seen, reward, terminated, truncated, _ = env.step(action)
            fresh = seen
            if terminated or truncated:
                seen = np.array(seen)  # a game may write what it sees next into the same array
                fresh = env.reset()[0]
            every.append((seen, fresh, reward, terminated, truncated))
        return rows(*zip(*every, strict=True))

    def close(self) -> None:
        for env in self._envs:
            env.close()


class ProcessGames(Games):
    """Games of Gymnasium in a process each."""

    def __init__(self, make: Make, count: int) -> None:
        super().__init__(count)
        vector: Any = optional("gymnasium.vector", "gym")
        same = vector.AutoresetMode.SAME_STEP
        self._envs: Any = vector.AsyncVectorEnv([make] * count, copy=False, autoreset_mode=same)

    def reset(self, seeds: Array) -> Array:
        found: Array = self._envs.reset(seed=seeds.tolist())[0]
        return found

    def step(self, actions: Array) -> Array:
        fresh, reward, terminated, truncated, about = self._envs.step(actions)
        seen = fresh
        if "final_obs" in about:
            ended = about["_final_obs"]
            seen = fresh.copy()
            seen[ended] = np.stack(about["final_obs"][ended])
        return rows(seen, fresh, reward, terminated, truncated)

    def close(self) -> None:
        self._envs.close()


class EnvPoolGames(Games):
    """Games of EnvPool, in threads of its own. It is seeded by the first game's seed."""

    def __init__(self, name: str, count: int, settings: Mapping[str, object]) -> None:
        super().__init__(count)
        self._name, self._settings = name, settings
        self._envs: Any = None

    def reset(self, seeds: Array) -> Array:
        envpool: Any = optional("envpool", "envpool")
        self.close()
        seed = int(seeds[0])
        self._envs = envpool.make(
            self._name, env_type="gymnasium", num_envs=self.count, seed=seed, **self._settings
        )
        return self._flat(self._envs.reset()[0])

    def _flat(self, seen: Array) -> Array:
        """What games see as arrays, flattened as Gymnasium does where it is none."""
        space = self._envs.observation_space
        if is_array(space):
            return seen
        flatten = optional("gymnasium.spaces", "gym").flatten
        return np.stack([flatten(space, each) for each in seen])

    def step(self, actions: Array) -> Array:
        found, reward, terminated, truncated, _ = self._envs.step(actions)
        seen = self._flat(found)
        fresh, ended = seen, np.flatnonzero(terminated | truncated).astype(np.int32)
        if ended.size:  # by itself a game would begin with the next step, and ignore its action
            begun, about = self._envs.reset(ended)
            fresh = seen.copy()
            fresh[about["env_id"]] = self._flat(begun)
        return rows(seen, fresh, reward, terminated, truncated)

    def close(self) -> None:
        if self._envs is not None:
            self._envs.close()


def maker(name: str | Make, settings: Mapping[str, object], **more: object) -> Make:
    """Return what makes one game, whose observations are arrays; ``more`` overrides settings."""
    gymnasium: Any = optional("gymnasium", "gym")

    def made() -> Any:
        env = name() if callable(name) else gymnasium.make(name, **{**settings, **more})
        if is_array(env.observation_space):
            return env
        return gymnasium.wrappers.FlattenObservation(env)

    return made


def games(name: str | Make, count: int, mode: Mode, settings: Mapping[str, object]) -> Games:
    """Return so many games.

    Errors: ArgumentError if EnvPool is to play games that it does not know by name.
    """
    if mode != "envpool":
        kind = ProcessGames if mode == "async" else HereGames
        return kind(maker(name, settings), count)
    if callable(name):
        raise ArgumentError("EnvPool has no games of a function", 'Give a name, or mode="sync".')
    return EnvPoolGames(name, count, settings)
