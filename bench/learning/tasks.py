"""What is learnt: an algorithm on an environment, for how many steps, and the bar to reach."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Task:
    """An algorithm on an environment for so many environment steps, all settings that differ.

    The bar is for the mean return of the last ``episodes``; without one the task shows what fails.
    """

    algorithm: str
    environment: str
    steps: int
    bar: float | None
    settings: Mapping[str, Any] = field(default_factory=dict[str, Any])
    episodes: int = 100
    quick: bool = False  # whether it belongs to the subset of a few minutes

    @property
    def name(self) -> str:
        return f"{self.algorithm} {self.environment}"


FEW_STEPS = {"steps": 64, "epochs": 10, "trace": 0.9, "discount": 0.98, "entropy": 0.0}
SCALED = {"normalise_observation": True, "normalise_reward": True}

TASKS = (
    Task("ppo", "CartPole-v1", 100_000, 475.0, FEW_STEPS, quick=True),
    Task(
        "ppo", "Acrobot-v1", 300_000, -100.0,
        {"games": 16, "steps": 64, "epochs": 10, "trace": 0.94, "entropy": 0.0,
         "normalise_observation": True},
    ),
    Task("ppo", "MountainCarContinuous-v0", 100_000, 90.0, {**SCALED, "discount": 0.999}),
    Task(
        "ppo", "Pendulum-v1", 300_000, -200.0,
        {**SCALED, "steps": 256, "epochs": 10, "minibatches": 16, "discount": 0.9, "entropy": 0.0},
    ),
    Task("ppo", "Catch", 50_000, 0.95, {"steps": 32}, quick=True),
    Task(
        "ppo", "MinAtar/Breakout-v1", 5_000_000, 15.0,
        {"games": 64, "minibatches": 8, "learning_rate": 2.5e-3, "activation": "relu"},
    ),
    Task("ppo", "MaskedCartPole", 200_000, None, FEW_STEPS),
    Task("recurrent_ppo", "MaskedCartPole", 200_000, 475.0),
    Task("recurrent_ppo", "MemoryChain", 50_000, 0.95, quick=True),
    Task(
        "a2c", "CartPole-v1", 500_000, 475.0,
        {"steps": 32, "learning_rate": 2e-3, "trace": 0.98}, quick=True,
    ),
    Task("reinforce", "CartPole-v1", 800_000, 475.0, quick=True),
    Task("impala", "CartPole-v1", 500_000, 475.0),
    Task(
        "dqn", "CartPole-v1", 200_000, 475.0,
        {"dueling": True, "hidden": (128, 128), "explored": 0.1},
    ),
    Task("dqn", "Acrobot-v1", 200_000, -100.0),
    Task(
        "qr_dqn", "CartPole-v1", 200_000, 475.0,
        {"steps": 64, "updates": 16, "window": 1600, "start": 16, "hidden": (128, 128),
         "anneal": True},
    ),
    Task("sac", "Pendulum-v1", 20_000, -200.0, episodes=20, quick=True),
    Task("td3", "Pendulum-v1", 20_000, -200.0, episodes=20),
    Task("evolution", "CartPole-v1", 1_600_000, 475.0),
)  # fmt: skip
