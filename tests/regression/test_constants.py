"""Constants keep their type and their bits through every stage."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest

import ostinato as ot
from ostinato.codegen.ir.system import Literal_
from ostinato.pdg import build
from ostinato.pdg.constant import as_real, only_zeros, spelled, uniform
from ostinato.pdg.node import Const

X = np.array([1, -1, 0, -0.0, 3], "float32")
OPTIONS = [{}, {"exact": True}, {"exact": True, "rules": ot.rules.only()}]


def agree(program: ot.Program, options: dict[str, object], **given: object) -> None:
    """Compare what is compiled with what is interpreted, bit by bit."""
    expected = program.interpret(**given)
    found = program.compile(**options)(**given)  # type: ignore[arg-type]
    for name, value in expected.items():
        bits(value, np.asarray(found[name]))


def bits(left: npt.NDArray[np.generic], right: npt.NDArray[np.generic]) -> None:
    assert left.dtype == right.dtype
    np.testing.assert_array_equal(left, right)
    np.testing.assert_array_equal(np.signbit(left), np.signbit(right))


@pytest.mark.parametrize("options", OPTIONS)
def test_a_negative_zero_stays_negative(options: dict[str, object]) -> None:
    x = ot.input("x", over=ot.dims("t"))
    agree(ot.Program(y=1 / ot.where(x > 0, 0.0, -0.0)), options, x=X)
    agree(ot.Program(y=1 / ot.where(x > 0, -0.0, 0.0)), options, x=X)


@pytest.mark.parametrize("options", OPTIONS)
def test_products_with_both_zeros_are_told_apart(options: dict[str, object]) -> None:
    x = ot.input("x", over=ot.dims("t"))
    agree(ot.Program(a=1 / (0.0 * x), b=1 / (-0.0 * x)), options, x=X)
    agree(ot.Program(a=1 / (0.0 * x), b=1 / (-0.0 * x)), options, x=-X)


@pytest.mark.parametrize("options", OPTIONS)
def test_a_literal_of_both_zeros_keeps_them(options: dict[str, object]) -> None:
    x = ot.input("x", over=ot.dims("t"))
    zeros = ot.constant([0.0, -0.0, 0.0])
    agree(ot.Program(y=1 / (zeros * x.reshape((1,)))), options, x=X)


def test_integers_above_two_to_the_53_are_told_apart() -> None:
    t = ot.dims("t")
    steps = ot.index(t).cast("int64")
    program = ot.Program(a=steps * (2**53 + 1), b=steps * 2**53)
    result = program.compile()(T=2)
    assert (result["a"][1], result["b"][1]) == (2**53 + 1, 2**53)


def test_a_running_sum_of_negative_zeros_is_zero_as_every_sum_is() -> None:
    v = ot.input("v", shape=(3,))
    agree(ot.Program(y=1 / ot.cumsum(v, 0)), {"exact": True}, v=-np.zeros(3, "float32"))


def test_literals_are_equal_by_type_and_bits() -> None:
    assert Const((0.0,)) != Const((-0.0,)) and Const((1,)) != Const((True,))
    nan = float("nan")
    assert Const((nan,)) == Const((-nan,)) and hash(Const((nan,))) == hash(Const((-nan,)))
    assert build.const(0.0, "float32") is not build.const(-0.0, "float32")
    assert Literal_(0.0, "float32") != Literal_(-0.0, "float32")
    assert Literal_(0, "float32") == Literal_(0.0, "float32") != Literal_(0.0, "float64")


def test_spellings_tell_constants_apart() -> None:
    assert len({spelled(x) for x in (0, 0.0, -0.0, False)}) == 4
    assert not uniform((0.0, -0.0)) and not only_zeros((0.0, -0.0))
    assert as_real((2**53,)) == 2.0**53 and as_real((-0.0,)) is None
