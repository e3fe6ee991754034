"""Parts of what was played, and draws from what was played long ago."""

from __future__ import annotations

import numpy as np
import pytest

import ostinato as ot
from ostinato import rl
from ostinato.pdg.errors import ArgumentError


def test_every_step_is_in_one_part_of_an_epoch_and_epochs_differ() -> None:
    b, e, t = ot.dims("b e t")
    m = ot.dim("m", size=3)
    rows = rl.minibatch((b, t), m, 3, over=e)
    numbers = (10 * ot.index(b) + ot.index(t)).at(**rows)
    found = ot.Program(x=numbers).compile()(B=3, E=4, T=4)["x"]
    everything = sorted(10 * game + step for game in range(3) for step in range(4))
    assert found.shape == (4, 3, 4)
    assert all(sorted(epoch.ravel().tolist()) == everything for epoch in found)
    assert len({tuple(epoch.ravel()) for epoch in found}) == 4


def test_replayed_steps_come_from_the_window_and_all_are_drawn() -> None:
    b, i, t = ot.dims("b i t")
    x = ot.input("x", over=(b, i, t))
    replay = rl.Replay((b, i, t), 400, window=2, over=i, ahead=2)
    given = {"x": np.arange(24.0).reshape(2, 4, 3)}
    program = ot.Program(now=replay(x), later=replay(x, 1))
    for run in (program.interpret, program.compile(checks=True)):
        found = run(**given)
        for k in range(4):
            numbers = range(max(k - 1, 0) * 3, (k + 1) * 3 - 1)
            assert set(found["now"][k]) == {12 * game + n for game in (0, 1) for n in numbers}
        assert np.array_equal(found["later"], found["now"] + 1)


def test_returns_of_more_steps_than_a_replay_looks_ahead_are_refused() -> None:
    b, i, t = ot.dims("b i t")
    games = rl.rollout(rl.CartPole(), lambda seen: ot.constant(0), (b, i, t))
    replay = rl.Replay((b, i, t), 4, window=2, over=i, ahead=2)
    text = r"a return of 3 steps of a replay that looks 2 ahead\n  Give rl.Replay\(ahead=3\), at"
    with pytest.raises(ArgumentError, match=text):
        rl.replayed_return(replay, games, 3)
    with pytest.raises(ArgumentError, match="minibatches of no dimensions"):
        rl.minibatch((), t, 2, over=i)


def test_no_gradient_goes_back_to_how_replayed_values_came_about() -> None:
    b, i, t = ot.dims("b i t")
    weight = ot.input("weight", over=i)
    made = weight * (1.0 + ot.index(b) + ot.index(t))
    replay = rl.Replay((b, i, t), 8, window=1, over=i)
    gradient = ot.grad((weight * replay(made)).sum(), weight)
    found = ot.Program(gradient=gradient, sum=replay(made).sum()).interpret(weight=[2.0], B=2, T=3)
    assert found["gradient"].tolist() == found["sum"].tolist()


def test_what_follows_an_episode_of_several_steps_counts_as_it_ended() -> None:
    b, i, t = ot.dims("b i t")
    names = ("reward", "terminated", "truncated", "following")
    of = {n: ot.input(n, dtype="bool" if n[0] == "t" else "float32", over=(b, i, t)) for n in names}
    zero = ot.zeros()
    games = rl.Rollout(
        zero, zero, of["reward"], of["terminated"], of["truncated"], of["following"], zero, zero,
        (b, i, t),
    )  # fmt: skip
    replay = rl.Replay((b, i, t), 64, window=1, over=i, ahead=3)
    parts = rl.replayed_return(replay, games, 3, 0.5)
    program = ot.Program(
        **dict(zip(("earned", "weight", "then"), parts, strict=True)), **replay.tensors
    )
    ends = {"terminated": [0, 0, 0, 1, 0, 0, 0, 0], "truncated": [0, 1, 0, 0, 0, 0, 0, 0]}
    given = {n: np.array([[x]], bool) for n, x in ends.items()}
    steps = np.arange(8.0)[None, None]
    found = program.interpret(**given, reward=2.0**steps, following=10.0 * steps)
    expected = {  # by the number of the step: what was earned, how the rest counts, what followed
        0: (1 + 0.5 * 2, 0.25, 10.0), 1: (2.0, 0.5, 10.0), 2: (4 + 0.5 * 8, 0.0, 30.0),
        3: (8.0, 0.0, 30.0), 4: (16 + 16 + 16, 0.125, 60.0), 5: (32 * 3, 0.125, 70.0),
    }  # fmt: skip
    assert set(found["rows_number"][0]) == set(expected)
    for number, *rest in zip(
        *(found[n][0] for n in ("rows_number", "earned", "weight", "then")), strict=True
    ):
        assert tuple(rest) == expected[int(number)]
