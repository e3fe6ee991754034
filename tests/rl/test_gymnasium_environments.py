"""Environments of Gymnasium in programs: ends, calls, errors, spaces, and the command line."""

from __future__ import annotations

import sys
from collections.abc import Callable
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType
from typing import Any

import gymnasium
import numpy as np
import numpy.typing as npt
import pytest

import ostinato as ot
from ostinato import rl
from ostinato.pdg.errors import ArgumentError, HostError
from ostinato.pdg.functions import Array
from tests.cli.test_train import asked, table
from tests.rl.toy_game import Counting

b, i, t = ot.dims("b i t")
SIZES = {"B": 2, "I": 2, "T": 4}


def none(actions: rl.Actions) -> Callable[[ot.Tensor], ot.Tensor]:
    """What an agent does that always takes the action 0."""

    def act(seen: ot.Tensor) -> ot.Tensor:
        zero = (0 * seen[..., 0]).cast(actions.dtype)
        return ot.stack([zero] * actions.shape[0], -1) if actions.shape else zero

    return act


def played(env: rl.Gymnasium) -> ot.Program:
    """What happens in games of action 2."""
    games = rl.rollout(env, lambda seen: (0 * seen[..., 0]).cast("int32") + 2, (b, i, t))
    return ot.Program(
        observation=games.observation,
        following=games.following,
        reward=games.reward,
        terminated=games.terminated,
        truncated=games.truncated,
    )


def row(text: str) -> list[list[int]]:
    return [[int(digit) for digit in word] for word in text.split()]


@pytest.mark.parametrize("run", ["interpreted", "compiled", "in processes"])
def test_a_game_ends_with_what_was_seen_last_and_the_next_one_begins(run: str) -> None:
    with rl.Gymnasium(Counting, mode="async" if run == "in processes" else "sync") as env:
        program = played(env)
        found = program.interpret(**SIZES) if run == "interpreted" else program.compile()(**SIZES)
    for game in range(2):
        one = {name: array[game].reshape(8, -1).astype(int) for name, array in found.items()}
        first = one["observation"][0, 0]
        assert first == 1  # an episode for each reset that the program asked for
        assert one["observation"].tolist() == row("10 11 20 21 22 30 31 40")
        assert one["following"].tolist() == row("11 12 21 22 23 31 32 41")
        assert one["terminated"].ravel().tolist() == [0, 1, 0, 0, 0, 0, 1, 0]
        assert one["truncated"].ravel().tolist() == [0, 0, 0, 0, 1, 0, 0, 0]
        assert set(one["reward"].ravel()) == {2}


def test_a_game_may_write_what_is_seen_into_one_array() -> None:
    class Reusing(Counting):
        kept = np.zeros(2, np.float32)

        def seen(self) -> npt.NDArray[np.float32]:
            self.kept[:] = super().seen()
            return self.kept

    with rl.Gymnasium(Reusing) as env:
        following = played(env).interpret(B=1, I=2, T=4)["following"]
    assert following.reshape(8, 2).astype(int).tolist() == row("11 12 21 22 23 31 32 41")


@pytest.mark.parametrize("algorithm", [rl.reinforce, rl.evolution])
def test_whole_episodes_begin_anew_in_every_iteration(algorithm: Callable[..., Any]) -> None:
    """An odd episode ends after 2 steps; the even one that Gymnasium begins then is not played."""
    with rl.Gymnasium(Counting) as env:
        training = algorithm(env, hidden=[2])
        runs = training.program.interpret, training.program.compile()
        for run in runs:
            before = Counting.calls
            found = run(**{**training.arguments, "I": 3, "T": 9})
            games = int(found["episodes"][0])
            assert found["episode_length"].tolist() == [2.0] * 3
            assert Counting.calls - before == 3 * 2 * games


def test_a_stream_that_is_left_makes_no_further_call() -> None:
    Counting.calls = 0
    with rl.Gymnasium(Counting) as env:
        program = played(env)
        run = ot.Program(reward=rl.finished(games(env))["episodes"]).compile()
        with run.stream(i, B=2, I=100_000, T=4) as records:
            next(iter(records))
        left = Counting.calls
        assert left % 8 == 0 and left < 8 * 100_000
        program.interpret(**SIZES)
        assert Counting.calls == left + 2 * 2 * 4


def games(env: rl.Gymnasium) -> rl.Rollout:
    return rl.rollout(env, lambda seen: (0 * seen[..., 0]).cast("int32") + 2, (b, i, t))


def test_an_error_keeps_the_records_before_it_and_closes_the_games() -> None:
    Counting.calls = Counting.closed = 0
    env = rl.Gymnasium(lambda: Counting(fails_at=21))
    opened = Counting.closed
    run = ot.Program(**rl.finished(games(env))).compile()
    seen: list[int] = []
    with pytest.raises(HostError, match="`step <lambda>` failed at i = 2, t = 2.*the cable is out"):
        for record in run.stream(i, B=2, I=5, T=4):
            seen.append(int(record.episodes))
    assert len(seen) == 2 and Counting.closed == opened + 2


def test_another_number_of_games_than_was_said_is_refused() -> None:
    env = rl.Gymnasium(Counting, 3)
    with pytest.raises(HostError, match="plays 2 games of `Counting`, which has 3: leave out n"):
        played(env).interpret(**SIZES)


spaces: Any = gymnasium.spaces
ACTIONS: dict[str, tuple[Any, rl.Actions, float]] = {
    "numbers from 5": (spaces.Discrete(3, start=5), rl.Discrete(3), 5.0),
    "several numbers": (spaces.MultiDiscrete([3, 2]), rl.Discretes((3, 2)), 0.0),
    "from 4 and 1": (spaces.MultiDiscrete([3, 2], start=[4, 1]), rl.Discretes((3, 2)), 5.0),
    "switches": (spaces.MultiBinary((1, 3)), rl.Discretes((2, 2, 2)), 0.0),
    "vectors": (spaces.Box(-2.0, 2.0, (3,)), rl.Box(3, -2.0, 2.0), 0.0),
    "stretched": (spaces.Box(np.array([0.0, 2.0]), np.array([4.0, 4.0])), rl.Box(2, -1, 1), 5.0),
}


@pytest.mark.parametrize("name", ACTIONS)
def test_actions_are_those_of_the_space(name: str) -> None:
    space, actions, reward = ACTIONS[name]
    env = rl.Gymnasium(lambda: Counting(space))
    assert env.actions == actions

    played = rl.rollout(env, none(env.actions), (b, i, t))
    found = ot.Program(reward=played.reward).interpret(B=1, I=1, T=1)
    assert found["reward"].ravel().tolist() == [reward]  # of the action 0: the sum of what is said


def test_actions_that_are_neither_are_refused() -> None:
    text = lambda: Counting(spaces.Text(3))  # noqa: E731
    with pytest.raises(ArgumentError, match=r"`<lambda>` has actions Text.*\n  Wrap it"):
        rl.Gymnasium(text)
    with pytest.raises(ArgumentError, match="`Walk-v7` cannot be made: NameNotFound.*\n  Give"):
        rl.make("gymnasium:Walk-v7")
    with pytest.raises(ArgumentError, match="a step of `Counting`, whose games did not begin"):
        env = rl.Gymnasium(Counting)
        env.step(env.state, ot.constant(0))


@pytest.mark.parametrize("size", ["Sequence", "Graph", "Box"])
def test_observations_of_no_fixed_size_are_refused(size: str) -> None:
    seen: Any = {
        "Sequence": spaces.Sequence(spaces.Discrete(2)),
        "Graph": spaces.Dict(a=spaces.Graph(spaces.Box(0, 1, (1,)), spaces.Discrete(2))),
        "Box": spaces.Box(-1, 1, (0,)),
    }[size]

    def made() -> Counting:
        env = Counting(spaces.Discrete(2))
        env.observation_space = seen
        return env

    with pytest.raises(ArgumentError, match="`made` has observations .*\n  Wrap it so that they"):
        rl.Gymnasium(made)


MORE: dict[str, Callable[[], rl.Gymnasium]] = {
    "numbers that are seen": lambda: rl.Gymnasium("FrozenLake-v1"),
    "a lander": lambda: rl.Gymnasium("LunarLander-v3"),
    "a cheetah": lambda: rl.Gymnasium("HalfCheetah-v5"),
    "EnvPool": lambda: rl.Gymnasium("CartPole-v1", mode="envpool"),
    "EnvPool's numbers": lambda: rl.Gymnasium("FrozenLake-v1", mode="envpool"),
}
SEEN = {
    "numbers that are seen": (16,), "a lander": (8,), "a cheetah": (17,), "EnvPool": (4,),
    "EnvPool's numbers": (16,),
}  # fmt: skip


@pytest.mark.parametrize("name", MORE)
@pytest.mark.filterwarnings("ignore")
def test_other_environments_play_where_they_are_installed(name: str) -> None:
    try:
        env = MORE[name]()
    except ArgumentError as missing:
        assert "NotInstalled" in missing.fact or "NotFound" in missing.fact, missing
        pytest.skip(missing.fact)
    if name.startswith("EnvPool"):
        pytest.importorskip("envpool", reason="EnvPool is not installed")

    played = rl.rollout(env, none(env.actions), (b, i, t))
    found = ot.Program(seen=played.observation, **rl.finished(played)).compile()(B=3, I=2, T=70)
    assert found["seen"].shape == (3, 2, 70, *SEEN[name])
    assert np.isfinite(found["seen"]).all() and found["seen"].std() > 0
    env.close()


class Pool:
    """Games like those of EnvPool: each shows one of some numbers, and ends with the third step."""

    def __init__(self, numbers: int, games: int) -> None:
        self.observation_space = spaces.Discrete(numbers)
        self.steps = np.zeros(games, int)

    def reset(self, which: Array | None = None) -> tuple[Array, dict[str, Array]]:
        chosen = np.arange(len(self.steps)) if which is None else which
        self.steps[chosen] = 0
        return self.steps[chosen], {"env_id": chosen}

    def step(self, actions: Array) -> tuple[Array, Array, Array, Array, dict[str, Array]]:
        self.steps = self.steps + 1
        return self.steps, np.ones(len(actions)), self.steps == 3, self.steps < 0, {}

    def close(self) -> None:
        self.steps = self.steps[:0]


def seen_in_a_pool(numbers: int, monkeypatch: pytest.MonkeyPatch) -> Array:
    """What five steps show of two games of FrozenLake, of which EnvPool shows so many numbers."""

    def make(name: str, env_type: str, num_envs: int, seed: int) -> Pool:
        return Pool(numbers, num_envs)

    pool = ModuleType("envpool")
    pool.__spec__ = ModuleSpec("envpool", None)  # it is installed
    pool.__dict__["make"] = make
    monkeypatch.setitem(sys.modules, "envpool", pool)
    with rl.Gymnasium("FrozenLake-v1", mode="envpool") as env:
        games = rl.rollout(env, none(env.actions), (b, i, t))
        return ot.Program(seen=games.observation).compile()(B=2, I=1, T=5)["seen"]


def test_numbers_that_envpool_shows_are_flattened(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = seen_in_a_pool(16, monkeypatch)
    assert seen.shape == (2, 1, 5, 16) and (seen.sum(-1) == 1.0).all()
    assert seen.argmax(-1).tolist() == [[[0, 1, 2, 0, 1]]] * 2


def test_games_that_envpool_shows_otherwise_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(HostError, match=r"observations \(5,\), not \(16,\) as Gymnasium says"):
        seen_in_a_pool(5, monkeypatch)


def test_the_command_line_trains_keeps_weights_and_evaluates(tmp_path: Path) -> None:
    a2c = ("a2c", "gymnasium:CartPole-v1", "--set", "games=2", "--set", "hidden=4")
    asked("train", *a2c, "--steps", "96", "--out", tmp_path)
    assert len(table(tmp_path)) == 3
    shown = asked("eval", tmp_path, "--episodes", "4")
    assert "after 3 iterations: mean return" in shown and "of 4 episodes" in shown
