"""`rl.CartPole` is Gymnasium's CartPole-v1, state by state."""

from dataclasses import dataclass
from typing import Any

import gymnasium
import numpy as np
import numpy.typing as npt
import pytest

import ostinato as ot
from ostinato import rl


@dataclass(frozen=True)
class Episode:
    """What Gymnasium did: states (n + 1, 4), the others (n,)."""

    states: npt.NDArray[Any]
    actions: npt.NDArray[Any]
    reward: npt.NDArray[Any]
    terminated: npt.NDArray[Any]
    truncated: npt.NDArray[Any]


def balance(state: npt.NDArray[Any]) -> int:
    """A policy that keeps the pole up until the episode is cut."""
    return int(state @ np.array([0.05, 0.1, 1.0, 0.3]) > 0)


def play(seed: int, random_part: float) -> Episode:
    """Play one episode with actions that are random in part."""
    env: Any = gymnasium.make("CartPole-v1")
    rng = np.random.default_rng(seed)
    env.reset(seed=seed)
    states, actions = [np.array(env.unwrapped.state)], list[int]()
    results: list[tuple[float, bool, bool]] = []
    while not any(results[-1][1:] if results else ()):
        is_random = rng.random() < random_part
        actions.append(int(rng.integers(2)) if is_random else balance(states[-1]))
        _, reward, terminated, truncated, _ = env.step(actions[-1])
        states.append(np.array(env.unwrapped.state))
        results.append((reward, terminated, truncated))
    columns = [np.array([result[k] for result in results]) for k in range(3)]
    return Episode(np.array(states), np.array(actions), *columns)


def replay(episode: Episode, dtype: str) -> dict[str, npt.NDArray[Any]]:
    """Take the same actions from the same first state."""
    t = ot.dims("t")
    env = rl.CartPole(dtype)
    state = ot.recurrent("state", like=env.state, over=t)
    action = ot.input("action", dtype="int32", over=t)
    following, reward, terminated, truncated = env.step(state, action)
    state[0] = ot.Record(motion=ot.input("start", (4,), dtype), steps=ot.constant(0))
    state[t + 1] = following
    program = ot.Program(
        states=following.motion, reward=reward, terminated=terminated, truncated=truncated
    )
    return program.interpret(action=episode.actions, start=episode.states[0])


@pytest.mark.parametrize(("seed", "random_part"), [(0, 1.0), (1, 1.0), (2, 0.6), (3, 0.3)])
def test_states_rewards_and_ends_are_gymnasiums(seed: int, random_part: float) -> None:
    episode = play(seed, random_part)
    found = replay(episode, "float64")
    # The same operations in the same order: only the library's sine may round differently.
    np.testing.assert_allclose(found["states"], episode.states[1:], rtol=1e-12, atol=1e-13)
    assert np.all(found["reward"] == episode.reward)
    assert np.array_equal(found["terminated"], episode.terminated)
    assert np.array_equal(found["truncated"], episode.truncated)


def test_an_episode_is_cut_after_500_steps() -> None:
    episode = play(seed=3, random_part=0.05)
    found = replay(episode, "float64")
    assert len(episode.actions) == 500 and found["truncated"].tolist() == [False] * 499 + [True]
    assert not found["terminated"].any()


def test_float32_stays_close() -> None:
    episode = play(seed=0, random_part=1.0)
    found = replay(episode, "float32")
    np.testing.assert_allclose(found["states"], episode.states[1:], atol=1e-4)


def test_first_states_are_drawn_from_the_same_range() -> None:
    b = ot.dims("b")
    out = ot.Program(s=rl.CartPole().reset(over=b).motion).interpret(B=200)["s"]
    assert out.shape == (200, 4) and -0.05 <= out.min() < -0.045 and 0.045 < out.max() < 0.05
