"""Environments that Gymnasium does not have, and what all of them share."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import ostinato as ot
from ostinato import rl
from ostinato.pdg.errors import ArgumentError, DtypeError, ShapeError
from ostinato.rl.environments.tabular import Transitions

ENVIRONMENTS: dict[str, Callable[[], rl.Env[rl.Actions]]] = {
    **{"cartpole": rl.CartPole, "pendulum": rl.Pendulum, "mountain car": rl.MountainCar},
    **{"continuous": rl.MountainCarContinuous, "acrobot": rl.Acrobot, "catch": rl.Catch},
    **{"lake": rl.FrozenLake, "cliff": rl.CliffWalking, "taxi": rl.Taxi},
}


def actions(env: rl.Env[rl.Actions], over: tuple[ot.Dimension, ...]) -> ot.Tensor:
    match env.actions:
        case rl.Discrete(count):
            return ot.random.integers(0, count, over=over)
        case rl.Box(size, low, high):
            return ot.random.uniform((size,), low, high, over=over)


@pytest.mark.parametrize("name", ENVIRONMENTS)
def test_games_that_start_again_are_the_same_interpreted_and_compiled(name: str) -> None:
    env = ENVIRONMENTS[name]()
    b, t = ot.dims("b t")
    state = ot.recurrent("state", like=env.state, over=(b, t))
    following, reward, terminated, truncated = env.step(state, actions(env, (b, t)))
    state[b, 0] = env.reset(over=b)
    state[b, t + 1] = ot.where(terminated | truncated, env.reset(over=(b, t)), following)
    seen = env.observe(state)
    assert seen.shape == env.observation_shape
    program = ot.Program(seen=seen, reward=reward, over=terminated | truncated)
    run = program.compile()
    expected, found = program.interpret(B=3, T=12), run(B=3, T=12)
    assert np.array_equal(found["over"], expected["over"])
    for each in ("seen", "reward"):
        np.testing.assert_allclose(found[each], expected[each], rtol=1e-4, atol=1e-5)


def test_a_ball_is_caught_by_who_follows_it() -> None:
    env = rl.Catch(rows=6, columns=5)
    b, t = ot.dims("b t")
    state = ot.recurrent("state", like=env.state, over=(b, t))
    towards = ot.sign(state.ball - state.paddle) + 1
    following, reward, terminated, truncated = env.step(state, towards)
    state[b, 0] = env.reset(over=b)
    state[b, t + 1] = following
    program = ot.Program(
        reward=reward, over=terminated, cut=truncated, board=env.observe(state), ball=state.ball
    )
    out = program.interpret(B=40, T=5)
    assert set(out["ball"][:, 0]) == set(range(5))
    assert (out["reward"] == [[0, 0, 0, 0, 1]]).all()
    assert (out["over"] == [[False] * 4 + [True]]).all() and not out["cut"].any()
    for game, step in np.ndindex(40, 5):
        board = out["board"][game, step]
        assert board.sum() == 2 and board[step, out["ball"][game, step]] >= 1


def test_a_paddle_that_rests_misses_most_balls() -> None:
    env = rl.Catch(rows=2, columns=5)
    b = ot.dims("b")
    before = env.reset(over=b)
    _, reward, _, _ = env.step(before, ot.constant(1))
    out = ot.Program(reward=reward, ball=before.ball).interpret(B=50)
    assert np.array_equal(out["reward"], np.where(out["ball"] == 2, 1.0, -1.0))


ONE = Transitions(
    np.zeros((1, 1, 1), np.int32),
    np.zeros((1, 1, 1), np.float32),
    np.zeros((1, 1, 1), np.bool_),
    np.ones((1, 1, 1)),
)


def changed(**fields: Any) -> Transitions:
    return replace(ONE, **fields)


def long_returns(steps: int) -> ot.Tensor:
    t = ot.dims("t")
    reward, no = ot.input("reward", over=t), ot.constant(False)
    return rl.n_step_return(reward, reward, no, no, t, steps)


WRONG: dict[str, tuple[Callable[[], object], type[Exception], str]] = {
    "tables of other sizes": (
        lambda: rl.Tabular(changed(reward=np.zeros((1, 2, 1))), np.ones(1), 5),
        ShapeError,
        "transitions of shapes [(1, 1, 1), (1, 2, 1)], starts of shape (1,)",
    ),
    "outcomes that are too likely": (
        lambda: rl.Tabular(changed(probability=np.full((1, 1, 1), 2.0)), np.ones(1), 5),
        ArgumentError,
        "probabilities of outcomes that are not from 0 on, or do not add up to 1",
    ),
    "starts that are unlikely": (
        lambda: rl.Tabular(ONE, np.zeros(1), 5),
        ArgumentError,
        "probabilities of starts that are not from 0 on, or do not add up to 1",
    ),
    "a place that does not exist": (
        lambda: rl.Tabular(changed(following=np.ones((1, 1, 1), np.int32)), np.ones(1), 5),
        ArgumentError,
        "transitions to places from 1 to 1\n  Number the 1 places from 0.",
    ),
    "a lake of no known size": (
        lambda: rl.FrozenLake(5),
        ArgumentError,
        "a frozen lake of size 5\n  Give 4 or 8, or the rows of a lake.",
    ),
    "a lake without a start": (
        lambda: rl.FrozenLake(lake=("FF", "FG")),
        ArgumentError,
        "a lake of the rows ('FF', 'FG')\n  Give rows of one length, of S (start), F (frozen), ",
    ),
    "starts that are dates": (
        lambda: rl.Tabular(ONE, np.array(["2020-01-01"], "datetime64[D]"), 5),
        ArgumentError,
        "probabilities of starts that are not from 0 on",
    ),
    "too many steps": (
        lambda: long_returns(65),
        ArgumentError,
        "returns of 65 steps, each of which is one more operation\n  Use at most 64, or ",
    ),
    "a pendulum of integers": (
        lambda: rl.Pendulum("int32"),
        DtypeError,
        "a Pendulum in int32\n  Use float32 or float64.",
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_mistakes_are_told(name: str) -> None:
    mistake, kind, text = WRONG[name]
    with pytest.raises(kind) as caught:
        mistake()
    assert text in str(caught.value)
