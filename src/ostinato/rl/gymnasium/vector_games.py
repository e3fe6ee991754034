"""Games of Gymnasium or EnvPool that are stepped together, and begin again where they end."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import Any, Literal

import numpy as np

from ostinato.pdg.errors import ArgumentError
from ostinato.pdg.functions import Array
from ostinato.rl.gymnasium.spaces import is_array, package

Mode = Literal["sync", "async", "envpool"]
Results = tuple[Array, Array, Array, Array, Array]
Make = Callable[[], Any]  # an environment of Gymnasium


class Games(ABC):
    """So many games. One that ended begins again in the same step."""

    def __init__(self, count: int) -> None:
        self.count = count

    @abstractmethod
    def reset(self, seeds: Array) -> Array:
        """Begin all games, and return what is seen."""

    @abstractmethod
    def step(self, actions: Array) -> Results:
        """Return what is seen, what the next step begins with, rewards, terminated, truncated."""

    @abstractmethod
    def close(self) -> None:
        """Give back what the games hold."""


class GymnasiumGames(Games):
    """Games of Gymnasium, in this process or in one each."""

    def __init__(self, make: Make, count: int, mode: Mode) -> None:
        super().__init__(count)
        vector: Any = package("gymnasium.vector", "gym")
        kind = vector.AsyncVectorEnv if mode == "async" else vector.SyncVectorEnv
        same = vector.AutoresetMode.SAME_STEP
        self._envs: Any = kind([make] * count, copy=False, autoreset_mode=same)

    def reset(self, seeds: Array) -> Array:
        found: Array = self._envs.reset(seed=[int(seed) for seed in seeds])[0]
        return found

    def step(self, actions: Array) -> Results:
        fresh, reward, terminated, truncated, about = self._envs.step(actions)
        seen = fresh
        if "final_obs" in about:
            ended = about["_final_obs"]
            seen = fresh.copy()
            seen[ended] = np.stack(about["final_obs"][ended])
        return seen, fresh, reward, terminated, truncated

    def close(self) -> None:
        self._envs.close()


class EnvPoolGames(Games):
    """Games of EnvPool, in threads of its own. It is seeded by the first game's seed."""

    def __init__(self, name: str, count: int, settings: Mapping[str, object]) -> None:
        super().__init__(count)
        self._name, self._settings = name, settings
        self._envs: Any = None

    def reset(self, seeds: Array) -> Array:
        envpool: Any = package("envpool", "envpool")
        self.close()
        seed = int(seeds[0])
        self._envs = envpool.make(
            self._name, env_type="gymnasium", num_envs=self.count, seed=seed, **self._settings
        )
        found: Array = self._envs.reset()[0]
        return found

    def step(self, actions: Array) -> Results:
        seen, reward, terminated, truncated, _ = self._envs.step(actions)
        fresh, ended = seen, np.flatnonzero(terminated | truncated).astype(np.int32)
        if ended.size:  # by itself a game would begin with the next step, and ignore its action
            begun, about = self._envs.reset(ended)
            fresh = seen.copy()
            fresh[about["env_id"]] = begun
        return seen, fresh, reward, terminated, truncated

    def close(self) -> None:
        if self._envs is not None:
            self._envs.close()


def maker(name: str | Make, settings: Mapping[str, object], **more: object) -> Make:
    """Return what makes one game, whose observations are arrays; ``more`` overrides settings."""
    gymnasium: Any = package("gymnasium", "gym")

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
        return GymnasiumGames(maker(name, settings), count, mode)
    if callable(name):
        raise ArgumentError("EnvPool has no games of a function", 'Give a name, or mode="sync".')
    return EnvPoolGames(name, count, settings)
