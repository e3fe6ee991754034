"""Which dimensions are the same work again: nothing that their points have in common is missed."""

from __future__ import annotations

import pytest

import ostinato as ot
from ostinato import rl
from ostinato.pdg.separate import separate_dims

b, k, t, u = ot.dims("b k t u")
x = ot.input("x", (3,), over=(b, k, t))
number = ot.input("number", over=(b, k, t))
other = ot.input("other", over=(b, k, u))
row = ot.input("row", (3,), over=(b, u))


def names(program: ot.Program) -> str:
    return " ".join(d.name for d in separate_dims(program.pdg))


def carried() -> ot.Tensor:
    h = ot.recurrent("h", (3,), over=(b, k, t))
    h[b, k, 0] = x[b, k, 0]
    h[b, k, t + 1] = ot.tanh(h) + x[b, k, t + 1]
    return h


PROGRAMS: dict[str, tuple[ot.Tensor, str]] = {
    "elements": (ot.tanh(x) + 1.0, "b k t"),
    "a product of each point": (x @ ot.input("own", (3, 3), over=(b, k, t)), "b k t"),
    "shared weights": (x @ ot.input("weights", (3, 3)), ""),
    "weights of each k": (x @ ot.input("weights", (3, 3), over=k), "k"),
    "a recurrence": (carried(), "b k"),
    "a rate for all": (number[b, k, : t + 1].sum(0) * ot.input("rate", over=k), "b k"),
    "a mean of others": (number - number[:, k, t].mean(0), "k t"),
    "a cumulative sum": (number[b, : k + 1, t].sum(0), "b t"),
    "one point for others": (number[b, k, t.size - 1], "b k"),
    "another point": (number[b.size - 1 - b, k, t], "k t"),
    "a place in a table": (ot.input("table", (t.size,), over=k)[k, t], "k"),
    "a condition": (ot.where(ot.index(t) < 3, number, 0.0), "b k t"),
    "a sum of products": ((number[b, :, t] * other[b, :, u]).sum(0), "b"),
    "products of rows": ((x[..., None] * row[..., None, :]).sum(0), "b"),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_dimensions_with_nothing_in_common_are_found(name: str) -> None:
    tensor, expected = PROGRAMS[name]
    assert names(ot.Program(y=tensor)) == expected


def test_cases_join_what_they_mention() -> None:
    y = ot.recurrent("y", over=(b, k))
    y[0, k] = number[0, k, 0]
    y[b + 1, k] = 2.0 * number[b + 1, k, 0]
    assert names(ot.Program(y=y)) == "k"


def test_an_output_may_hold_all_points_side_by_side_but_no_sum_of_them() -> None:
    every = number[:, :, t]
    assert names(ot.Program(every=every)) == "b k t"
    assert names(ot.Program(every=every, mean=every.mean())) == "t"
    assert names(ot.Program(every=every, turned=every.T, again=ot.exp(every.T))) == "t"


def test_trainings_of_a_sweep_are_separate_and_games_share_their_policy() -> None:
    rate = ot.input("learning_rate", over=ot.dim("rate", size=2))
    bonus = ot.input("entropy", over=ot.dim("bonus", size=3))
    for algorithm in (rl.a2c, rl.ppo):
        training = algorithm(
            rl.CartPole(), hidden=[4], learning_rate=rate, entropy=bonus,
            over=ot.dim("seed", size=2),
        )  # fmt: skip
        assert names(training.program) == "rate bonus seed"
