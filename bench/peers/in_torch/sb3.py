"""PPO of Stable-Baselines3, set to the sizes of the suite."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from stable_baselines3 import PPO
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.env_util import make_vec_env

from bench.harness.learning import samples
from bench.harness.timing import rates


class Lengths(BaseCallback):
    """Remembers the mean length of the games that ended in each iteration."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[float] = []
        self._now: list[float] = []

    def _on_step(self) -> bool:
        infos = self.locals["infos"]
        self._now.extend(info["episode"]["l"] for info in infos if "episode" in info)
        return True

    def _on_rollout_end(self) -> None:
        self.found.append(float(np.mean(self._now)) if self._now else 0.0)
        self._now.clear()


def agent(envs: int, steps: int, seed: int = 0) -> PPO:
    return PPO(
        "MlpPolicy",
        make_vec_env("CartPole-v1", n_envs=envs, seed=seed),
        n_steps=steps,
        batch_size=envs * steps // 4,
        n_epochs=4,
        learning_rate=lambda left: 1e-3 * left,
        gamma=0.99,
        gae_lambda=0.95,
        clip_range=0.2,
        ent_coef=0.01,
        max_grad_norm=0.5,
        policy_kwargs={"net_arch": {"pi": [64, 64], "vf": [64, 64]}},
        seed=seed,
        device="cpu",
    )


def sampler(envs: int, steps: int) -> Callable[[], float]:
    found = agent(envs, steps)

    def run(iterations: int) -> None:
        found.learn(iterations * envs * steps, reset_num_timesteps=False)

    return rates(run, envs * steps)


def returns(envs: int, steps: int, iterations: int, seed: int) -> list[float]:
    """Return the mean length of finished games in every iteration of a whole training."""
    lengths = Lengths()
    agent(envs, steps, seed).learn(iterations * envs * steps, callback=lengths)
    return lengths.found


def learning(envs: int, steps: int, updates: int) -> Callable[[], float]:
    return samples(lambda seed: returns(envs, steps, updates, seed))
