"""Environments made of another one: around each other, around legal actions, around Gymnasium."""

from __future__ import annotations

import numpy as np
import pytest

import ostinato as ot
from ostinato import rl
from ostinato.pdg.errors import ArgumentError, HostError


def played(env: rl.Env[rl.Actions], action: ot.Tensor) -> rl.Rollout:
    b, i, t = ot.dims("b i t")
    return rl.rollout(env, lambda seen: action, (b, i, t))


def cuts(env: rl.Env[rl.Actions], steps: int) -> list[int]:
    games = played(env, ot.constant(0))
    found = ot.Program(cut=games.truncated).interpret(B=1, I=1, T=steps)
    return found["cut"].ravel().astype(int).tolist()


def test_a_wrapper_goes_around_another_one_of_its_kind() -> None:
    shorter = rl.TimeLimit(rl.TimeLimit(rl.Breakout(), 3), 5)
    assert cuts(shorter, 7) == [0, 0, 1, 0, 0, 1, 0]
    assert cuts(rl.TimeLimit(rl.TimeLimit(rl.Breakout(), 5), 3), 7) == [0, 0, 1, 0, 0, 1, 0]
    sticky = rl.Sticky(rl.Sticky(rl.CartPole(), 0.0), 0.0)
    assert sum(cuts(sticky, 3)) == 0
    env = rl.FrameStack(rl.FrameStack(rl.Pendulum(), 2), 3)
    games = played(env, ot.zeros(1))
    found = ot.Program(seen=games.observation).interpret(B=1, I=1, T=4)["seen"]
    frames = found.reshape(4, 3, 2, 3)
    assert (frames[3, 2, 0] == frames[3, 1, 1]).all()
    assert (frames[3, 0, 1] == frames[1, 2, 1]).all()


def test_what_a_state_has_already_keeps_its_name() -> None:
    class Counted(rl.Wrapper[rl.Actions]):
        @property
        def state(self) -> ot.Record:
            return ot.Record(**self.env.state.fields, played=ot.zeros(()))

        def begun(self, first: ot.Record, over: object) -> ot.Record:
            return ot.Record(**first.fields, played=ot.constant(7.0))

        def step(
            self, state: ot.Record, action: ot.Tensor
        ) -> tuple[ot.Record, ot.Tensor, ot.Tensor, ot.Tensor]:
            following, *results = self.env.step(state, action)
            reward, terminated, truncated = results
            after = ot.Record(**following.fields, played=state.played)
            return after, reward, terminated, truncated

    assert cuts(rl.TimeLimit(Counted(rl.Breakout()), 2), 4) == [0, 1, 0, 1]


@pytest.mark.parametrize(
    "env",
    [
        rl.TimeLimit(rl.TicTacToe(), 9),
        rl.Sticky(rl.TicTacToe(), 0.0),
        rl.ChannelsFirst(rl.TicTacToe()),
        rl.FrameStack(rl.ChannelsFirst(rl.TicTacToe()), 2),
        rl.ChannelsFirst(rl.TimeLimit(rl.InARow(2, 3, 3), 6)),
    ],
)
def test_what_is_legal_is_legal_in_a_wrapper(env: rl.Env[rl.Discrete]) -> None:
    """A move that is not legal loses; who takes legal ones alone never gets -1."""
    b, i, t = ot.dims("b i t")
    actor = rl.Actor(env, [4])
    games = rl.rollout(env, lambda seen: actor(seen).sample(), (b, i, t))
    reward = ot.Program(reward=games.reward).compile()(B=20, I=1, T=12)["reward"]
    assert reward.min() == 0.0


def test_a_wrapper_that_shows_something_else_says_what_the_environment_showed() -> None:
    class Turned(rl.Wrapper[rl.Discrete]):
        def observe(self, state: ot.Record) -> ot.Tensor:
            return 1.0 - self.env.observe(state)

    class Unturned(Turned):
        def unwrapped(self, observation: ot.Tensor) -> ot.Tensor:
            return 1.0 - observation

    with pytest.raises(ArgumentError) as caught:
        rl.ppo(Turned(rl.Against(rl.TicTacToe())))
    assert (
        str(caught.value)
        .splitlines()[0]
        .endswith("what `Turned` shows does not say which actions are legal")
    )
    rl.ppo(Unturned(rl.Against(rl.TicTacToe())))


def test_a_reset_of_its_own_is_refused() -> None:
    def reset(self: rl.Wrapper[rl.Actions], over: object) -> ot.Record:
        return self.env.reset(())

    with pytest.raises(ArgumentError, match="`Late` has a `reset` of its own") as caught:
        type("Late", (rl.Wrapper,), {"reset": reset})
    assert "Write `begun(first, over)`" in str(caught.value)


def test_episodes_of_gymnasium_end_in_gymnasium() -> None:
    pytest.importorskip("gymnasium")
    with rl.Gymnasium("CartPole-v1") as env:
        games = played(rl.TimeLimit(env, 3), ot.constant(0))
        with pytest.raises(HostError) as caught:
            ot.Program(cut=games.truncated).interpret(B=2, I=1, T=8)
    assert "the program ended an episode of `CartPole-v1`, which goes on" in str(caught.value)
    with rl.Gymnasium("CartPole-v1", max_episode_steps=3) as env:
        assert cuts(env, 8) == [0, 0, 1, 0, 0, 1, 0, 0]


def test_wrappers_around_gymnasium_train_whole_episodes_and_are_evaluated() -> None:
    pytest.importorskip("gymnasium")
    with rl.Gymnasium("CartPole-v1") as env:
        few = rl.TimeLimit(rl.FrameStack(env, 2), 6)
        training = rl.reinforce(few, episodes=3, steps=10, iterations=2, hidden=[4])
        assert (training.train()["episode_length"] == 6).all()
        weights = rl.learnt(training)
        found = rl.evaluate(few, training.policy, weights, episodes=4)
    assert found.lengths.tolist() == [6, 6, 6, 6]
    assert np.array_equal(found.returns, found.lengths)


def test_a_game_of_gymnasium_without_a_picture_is_said() -> None:
    gymnasium = pytest.importorskip("gymnasium")

    class Blind(gymnasium.Env):  # type: ignore[misc,name-defined]
        observation_space = gymnasium.spaces.Box(-1.0, 1.0, (2,))
        action_space = gymnasium.spaces.Discrete(2)
        drawn: object = None

        def __init__(self, render_mode: str | None = None) -> None:
            self.render_mode = render_mode

        def reset(self, **settings: object) -> tuple[object, dict[str, object]]:
            return np.zeros(2, np.float32), {}

        def render(self) -> object:
            if isinstance(self.drawn, Exception):
                raise self.drawn
            return self.drawn

    with rl.Gymnasium(Blind) as env:
        policy = rl.Actor(env, [2])
        weights = ot.Program(**policy.state_dict()).interpret()
        with pytest.raises(ArgumentError, match="`Blind` has no picture: render gives None\n"):
            rl.filmed(env, policy, weights)
        Blind.drawn = RuntimeError("no screen")
        with pytest.raises(ArgumentError, match="has no picture: RuntimeError: no screen\n  Inst"):
            rl.filmed(env, policy, weights)
