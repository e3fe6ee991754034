"""Two elements that examples tell apart are not tried to be proved equal."""

from __future__ import annotations

from fractions import Fraction

import pytest

from ostinato.rewrite.prove.application import Call, Leaf, Number, Value
from ostinato.rewrite.prove.model import are_apart
from ostinato.rewrite.prove.prover import prove
from tests.rewrite.wrong.shifts import SHIFTS

X, Y = Leaf("x", (), ()), Leaf("y", (), ())
ONE = Number(Fraction(1))


def call(fn: str, *args: Value) -> Call:
    return Call(fn, args)


def test_equal_values_are_never_apart_also_where_they_round_or_are_undefined() -> None:
    big = Number(Fraction(2**40))
    rounded = call("sub", call("add", X, big), big)
    assert not are_apart(rounded, X)
    assert not are_apart(
        call("log", call("mul", X, Y)), call("add", call("log", X), call("log", Y))
    )
    assert not are_apart(call("div", ONE, call("sub", X, X)), Y)


def test_values_that_differ_are_apart() -> None:
    assert are_apart(call("add", X, ONE), X) and are_apart(call("exp", X), call("exp", Y))


def test_what_is_apart_is_not_simplified(monkeypatch: pytest.MonkeyPatch) -> None:
    tried: list[bool] = []

    def seen(left: Value, right: Value) -> bool:
        tried.append(are_apart(left, right))
        return False

    monkeypatch.setattr("ostinato.rewrite.prove.prover.equal_scalars", seen)
    assert {prove(seeded.rule()).outcome for seeded in SHIFTS[:6]} <= {"failed", "unproved"}
    assert not any(tried)
