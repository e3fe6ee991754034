"""A game of Gymnasium that counts: what is seen is the episode and the step of it."""

from __future__ import annotations

from typing import Any, ClassVar

import gymnasium
import numpy as np
import numpy.typing as npt

Seen = npt.NDArray[np.float32]


class Counting(gymnasium.Env[Seen, Any]):
    """Odd episodes terminate after 2 steps, even ones are cut after 3; the reward is the action."""

    closed: ClassVar[int] = 0
    calls: ClassVar[int] = 0

    def __init__(self, actions: gymnasium.Space[Any] | None = None, fails_at: int = -1) -> None:
        self.observation_space = gymnasium.spaces.Box(-1.0, 99.0, (2,), np.float32)
        self.action_space = actions or gymnasium.spaces.Discrete(3)
        self.fails_at, self.episode, self.count = fails_at, 0, 0

    def reset(self, **_: Any) -> tuple[Seen, dict[str, Any]]:
        self.episode, self.count = self.episode + 1, 0
        return self.seen(), {}

    def step(self, action: object) -> tuple[Seen, float, bool, bool, dict[str, Any]]:
        Counting.calls += 1
        self.count += 1
        if Counting.calls == self.fails_at:
            raise RuntimeError("the cable is out")
        odd = self.episode % 2 == 1
        reward = float(np.asarray(action).sum())
        return self.seen(), reward, odd and self.count == 2, not odd and self.count == 3, {}

    def seen(self) -> Seen:
        return np.array([self.episode, self.count], np.float32)

    def close(self) -> None:
        Counting.closed += 1
