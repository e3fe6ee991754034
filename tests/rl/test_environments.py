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
    **{"asterix": rl.Asterix, "freeway": rl.Freeway, "invaders": rl.SpaceInvaders},
    **{"sticky": lambda: rl.Sticky(rl.Breakout(), 0.3), "chain": lambda: rl.MemoryChain(3)},
    **{
        "masked": lambda: rl.PartiallyObserved(rl.CartPole(), [2, 0]),
        "in time": lambda: rl.TimeLimit(rl.Pendulum(), 4),
        "frames": lambda: rl.FrameStack(rl.Catch(), 3),
        "channels first": lambda: rl.ChannelsFirst(rl.Breakout()),
        "lander": rl.Lander,
        "bandit": lambda: rl.Bandit([1.0, 2.0]),
        "connect four": rl.ConnectFour,
        "against": lambda: rl.Against(rl.TicTacToe()),
    },
}


def actions(env: rl.Env[rl.Actions], over: tuple[ot.Dimension, ...]) -> ot.Tensor:
    match env.actions:
        case rl.Discrete(count):
            return ot.random.integers(0, count, over=over)
        case rl.Discretes(sizes):
            return ot.stack([ot.random.integers(0, n, over=over) for n in sizes], -1)
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


def test_a_masked_pole_shows_where_it_is_and_not_how_it_moves() -> None:
    b = ot.dims("b")
    start = rl.CartPole().reset(over=b)
    masked = rl.PartiallyObserved(rl.CartPole(), [0, 2]).observe(start)
    found = ot.Program(all=rl.CartPole().observe(start), masked=masked).interpret(B=5)
    assert np.array_equal(found["masked"], found["all"][:, [0, 2]])


def test_masks_that_fit_no_environment_are_refused() -> None:
    with pytest.raises(ArgumentError, match=r"the numbers \[4\] of an observation of 4"):
        rl.PartiallyObserved(rl.CartPole(), [4])
    with pytest.raises(ArgumentError, match="shows a board of 10 x 5"):
        rl.PartiallyObserved(rl.Catch(), [0])


def test_who_remembers_the_sign_is_rewarded_and_who_does_the_other_is_not() -> None:
    b, t = ot.dims("b t")
    env = rl.MemoryChain(4)
    state = ot.recurrent("state", like=env.state, over=(b, t))
    following, reward, terminated, _ = env.step(
        state, ot.where(ot.index(b) % 2 == 0, state.sign, 1)
    )
    state[b, 0] = env.reset(over=b)
    state[b, t + 1] = following
    program = ot.Program(reward=reward, over=terminated, seen=env.observe(state), sign=state.sign)
    found = program.interpret(B=64, T=4)
    assert found["over"].tolist() == [[False, False, False, True]] * 64
    right = np.where(np.arange(64) % 2 == 0, 1.0, 2.0 * found["sign"][:, 0] - 1.0)
    assert np.array_equal(found["reward"], right[:, None] * [0, 0, 0, 1])
    assert np.array_equal(found["seen"][:, 0, 0], 2.0 * found["sign"][:, 0] - 1.0)
    assert not found["seen"][:, 1:, 0].any()


def test_the_arms_of_a_bandit_pay_their_means() -> None:
    b = ot.dims("b")
    env = rl.Bandit([-1.0, 3.0], std=0.5)
    arm = ot.index(b) % 2
    _, reward, terminated, truncated = env.step(env.reset(over=b), arm)
    found = ot.Program(r=reward, over=terminated, cut=truncated).compile()(B=20_000)
    assert np.allclose([found["r"][k::2].mean() for k in (0, 1)], [-1.0, 3.0], atol=0.02)
    assert np.allclose([found["r"][k::2].std() for k in (0, 1)], 0.5, atol=0.02)
    assert found["over"].all() and not found["cut"].any()


def test_the_better_arm_of_a_bandit_is_learnt() -> None:
    training = rl.a2c(rl.Bandit([0.0, 1.0]), hidden=[4], iterations=100, learning_rate=0.02)
    assert training.train()["episode_return"][-10:].mean() > 0.7


def test_every_environment_has_a_name_and_a_misspelt_one_is_refused() -> None:
    assert isinstance(rl.make("CartPole-v1"), rl.CartPole)
    breakout = rl.make("MinAtar/Breakout-v1")
    assert isinstance(breakout, rl.Sticky)
    with pytest.raises(ArgumentError, match="`Pendulum`\n  Did you mean `Pendulum-v1`"):
        rl.make("Pendulum")
