"""Environments of equations in Gymnasium pass its checks, and play the same games."""

from __future__ import annotations

import importlib
import importlib.util
import warnings
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

import ostinato as ot
from ostinato import rl
from ostinato.pdg.errors import ArgumentError
from ostinato.rl.gymnasium.to_gymnasium import Autoreset

NAMES = ("CartPole-v1", "Pendulum-v1", "FrozenLake-v1", "MinAtar/Breakout-v1")


@pytest.mark.parametrize("name", NAMES)
def test_an_adapter_passes_gymnasiums_checker(name: str) -> None:
    with warnings.catch_warnings():
        warnings.filterwarnings("error", module="gymnasium")
        warnings.filterwarnings("ignore", ".*(infinity|Box|registered|spec).*")
        check_env(rl.to_gymnasium(rl.make(name), render_mode="rgb_array"))


def test_several_numbers_at_once_are_a_space_of_gymnasiums() -> None:
    class Both(rl.Wrapper[rl.Actions]):
        def __init__(self) -> None:
            super().__init__(rl.Bandit([0.0, 1.0, 10.0, 11.0], std=0.0))
            self.actions = rl.Discretes((2, 2))

        def step(
            self, state: ot.Record, action: ot.Tensor
        ) -> tuple[ot.Record, ot.Tensor, ot.Tensor, ot.Tensor]:
            return self.env.step(state, 2 * action[..., 0] + action[..., 1])

    env = rl.to_gymnasium(Both())
    assert env.action_space == gymnasium.spaces.MultiDiscrete([2, 2])
    env.reset(seed=0)
    assert env.step(np.array([1, 0]))[1] == 10.0


def test_every_step_of_a_vector_is_gymnasiums() -> None:
    envs = rl.to_gymnasium_vector(rl.CartPole(), 5, autoreset="disabled")
    other: Any = gymnasium.make("CartPole-v1")
    other.reset(seed=0)
    seen, _ = envs.reset(seed=3)
    ended = np.zeros(5, bool)
    for step in range(30):
        actions = (np.arange(5) + step) % 3 % 2
        after, rewards, terminated, truncated, _ = envs.step(actions)
        for k in range(5):
            other.unwrapped.state, other.unwrapped.steps_beyond_terminated = (
                seen[k].astype(float),
                None,
            )
            expected, reward, ends, *_ = other.step(int(actions[k]))
            np.testing.assert_allclose(after[k], expected, rtol=1e-4, atol=1e-5)
            assert (rewards[k], terminated[k]) == (reward, ends)
        ended |= terminated
        seen = after
        if terminated.any():
            seen, _ = envs.reset(options={"reset_mask": terminated | truncated})
    assert ended.all()


@pytest.mark.parametrize("autoreset", ["next-step", "same-step"])
def test_games_that_ended_begin_again_as_gymnasiums_do(autoreset: Autoreset) -> None:
    """A ball of Catch lands after nine steps, in all games at once."""
    envs = rl.to_gymnasium_vector(rl.Catch(), 3, autoreset=autoreset)
    envs.reset(seed=0)
    told = [envs.step(np.ones(3, np.int64)) for _ in range(12)]
    ends = [bool(terminated.all()) for _, _, terminated, *_ in told]
    assert ends.index(True) == 8 and sum(ends) == 1
    row = [int(np.argmax(seen[0].sum(-1) > 0)) for seen, *_ in told]  # of the ball, from the top
    last = told[8][4]
    if autoreset == "next-step":
        assert row[8:11] == [9, 0, 1] and not last
        assert told[9][1].tolist() == [0.0, 0.0, 0.0]
    else:
        assert row[8:11] == [0, 1, 2] and last["_final_obs"].all()
        assert int(np.argmax(last["final_obs"][0].sum(-1) > 0)) == 9


def test_draws_follow_from_the_seed_of_a_reset() -> None:
    def played(seed: int) -> list[int]:
        env = rl.to_gymnasium(rl.FrozenLake(8))
        env.reset(seed=seed)
        return [int(env.step(1 + k % 2)[0].argmax()) for k in range(30)]

    assert played(1) == played(1) != played(2)


def test_a_step_before_a_reset_is_refused() -> None:
    with pytest.raises(ArgumentError, match="a game that did not begin is stepped"):
        rl.to_gymnasium(rl.CartPole()).step(0)
    envs = rl.to_gymnasium_vector(rl.Catch(), 2, autoreset="disabled")
    with pytest.raises(ArgumentError, match="games that did not begin"):
        envs.step(np.zeros(2, np.int64))
    envs.reset(seed=0)
    for _ in range(9):
        envs.step(np.zeros(2, np.int64))
    with pytest.raises(ArgumentError, match="2 games that ended are stepped\n  Call reset"):
        envs.step(np.zeros(2, np.int64))


def test_what_is_no_action_is_refused() -> None:
    one, envs = rl.to_gymnasium(rl.CartPole()), rl.to_gymnasium_vector(rl.CartPole(), 3)
    box = rl.to_gymnasium_vector(rl.Pendulum(), 2)
    for env in (one, envs, box):
        env.reset(seed=0)
    for action in (2, -1):
        with pytest.raises(ArgumentError, match=rf"an action is {action}\n  Give one of Discrete"):
            one.step(action)
    for actions in ([0, 1], [0, 1, 0.5], None, "up", [[0], [1], [0]]):
        with pytest.raises(ArgumentError, match=r"whole numbers\n  Give .* each of 3 games"):
            envs.step(actions)
    with pytest.raises(ArgumentError, match="an action is 7\n"):
        envs.step([0, 1, 7])
    with pytest.raises(ArgumentError, match=r"shape \(2,\) .*not shape \(2, 1\) and real"):
        box.step(np.zeros(2))
    with pytest.raises(ArgumentError, match="`reset_mask` has shape .*\n  Give 3 booleans"):
        envs.reset(options={"reset_mask": [1, 0, 0]})
    assert envs.reset(options={"reset_mask": [True, False, False]})[0].shape == (3, 4)


@pytest.mark.skipif(
    importlib.util.find_spec("stable_baselines3") is None,
    reason="Stable-Baselines3 is not installed",
)
@pytest.mark.filterwarnings("ignore")
def test_stable_baselines_trains_on_it() -> None:
    algorithms: Any = importlib.import_module("stable_baselines3")
    evaluation: Any = importlib.import_module("stable_baselines3.common.evaluation")
    env = rl.to_gymnasium(rl.CartPole())
    model = algorithms.PPO("MlpPolicy", env, n_steps=256, seed=1, device="cpu")
    before, _ = evaluation.evaluate_policy(model, env, 5, warn=False)
    model.learn(4096)
    after, _ = evaluation.evaluate_policy(model, env, 5, warn=False)
    assert after > max(60.0, 1.5 * before)
