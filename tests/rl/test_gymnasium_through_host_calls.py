"""Gymnasium's CartPole, driven by host calls, gives the same games in both ways of running."""

from collections.abc import Callable
from typing import cast

import gymnasium
import numpy as np

import ostinato as ot
from ostinato.pdg.functions import Array

b, i, t = ot.dims("b i t")
SIZES = {"B": 3, "I": 2, "T": 60}


def game() -> ot.Program:
    """Iterations that go on with the games of the ones before; a game that is over starts again."""
    envs = gymnasium.make_vec("CartPole-v1", num_envs=3, vectorization_mode="sync")

    def reset() -> Array:
        return np.asarray(envs.reset(seed=0)[0])

    def step(action: Array) -> tuple[Array, Array, Array]:
        state, reward, terminated, truncated, _ = envs.step(action)
        return np.asarray(state), np.asarray(reward), terminated | truncated

    def called(fn: Callable[..., object], *of: ot.Tensor, shape: object) -> object:
        return ot.host(fn, *of, shape=shape, over=b, effects="cartpole")  # type: ignore[arg-type]

    state = ot.recurrent("state", shape=(4,), over=(b, i, t))
    first = called(reset, shape=(4,))
    action = (state[..., 0] > 0).cast("int32")  # falls over soon
    made = called(step, action, shape=(((4,), "float32"), ((), "float32"), ((), "bool")))
    assert isinstance(first, ot.Tensor) and isinstance(made, tuple)
    after, reward, done = cast(tuple[ot.Tensor, ot.Tensor, ot.Tensor], made)
    state[(i == 0) & (t == 0)] = first
    state[t == 0] = after[b, i - 1, -1]
    state[b, i, t + 1] = after
    rewards = reward[:, i, :].sum()
    return ot.Program(state=state, reward=rewards, games=done[:, i, :].cast("int32").sum())


def test_compiled_games_are_those_of_the_interpreter() -> None:
    expected, found = game().interpret(**SIZES), game().compile(threads=2)(**SIZES)
    for name, value in expected.items():
        np.testing.assert_array_equal(found[name], value)
    assert found["games"].min() > 0  # some games ended and began again


def test_records_of_games_arrive_one_by_one() -> None:
    run = game().compile(threads=2)
    records = list(run.stream(i, **SIZES))
    np.testing.assert_array_equal([r.reward for r in records], game().interpret(**SIZES)["reward"])
