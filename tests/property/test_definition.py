"""The second judge: its domain rule, and that it agrees with the interpreter."""

from __future__ import annotations

import numpy as np
import pytest

import ostinato as ot
from ostinato.language.tensor import Tensor
from ostinato.pdg.functions import Array
from tests.property.definition import Definition, Undefined, define
from tests.property.operators import philox
from tests.property.unsettled import Unsettled


def defined(y: Tensor, **arguments: object) -> Array:
    program = ot.Program(y=y)
    bound = program.signature.bind(arguments)
    judge = Definition(program.pdg, bound.extents, bound.inputs, bound.seed, program.hosts)
    return define(judge)[0]["y"]


def test_a_sum_before_the_first_step_is_the_sum_of_nothing() -> None:
    t = ot.dims("t")
    sums = ot.input("x", over=t)[: t + 1].sum(0)
    assert defined(sums[t - 1], x=[1.0, 2.0, 4.0]).tolist() == [0.0, 1.0, 3.0]


def test_a_running_fold_begins_with_the_fold_of_nothing() -> None:
    x = ot.input("x", (2,))
    y = ot.stack([ot.cumsum(x, 0), ot.cumprod(x, 0), ot.cummax(x, 0)])
    program, given = ot.Program(y=y), {"x": [-0.0, -0.0]}
    signs = [[False, False], [True, False], [True, True]]
    assert np.signbit(defined(y, **given)).tolist() == signs
    assert np.signbit(program.interpret(**given)["y"]).tolist() == signs
    assert np.signbit(program.compile(exact=True)(**given)["y"])[:2].tolist() == signs[:2]


def test_a_draw_is_a_function_of_its_point() -> None:
    b, t = ot.dims("b t")
    draw = ot.random.normal((), over=(b, t))
    before = defined(draw[b, ot.maximum(t - 1, 0)], B=2, T=3)
    assert before[:, 1:].tolist() == defined(draw[b, t], B=2, T=3)[:, :-1].tolist()


def test_a_choice_outside_takes_the_side_of_its_condition() -> None:
    t = ot.dims("t")
    x = ot.input("x", over=t)
    assert defined(ot.where(t >= 0, x, 7.0)[t - 1], x=[1.0, 2.0]).tolist() == [7.0, 1.0]


def test_a_leaf_has_no_value_outside_its_box() -> None:
    first = ot.Program(y=ot.input("x", over=ot.dims("t"))[0]).pdg
    assert define(Definition(first, {"T": 1}, {"x": np.ones(1, "float32")}))[0]["y"] == 1.0
    with pytest.raises(Undefined):
        define(Definition(first, {"T": 0}, {"x": np.ones(0, "float32")}))


def test_recurrences_of_any_length_are_defined() -> None:
    t = ot.dims("t")
    h = ot.recurrent("h", dtype="int32", over=t)
    h[0] = 1
    h[t + 1] = h * 3 + 1
    assert defined(h, T=3000).tolist()[:4] == [1, 4, 13, 40]


def test_philox_gives_the_words_of_its_paper() -> None:
    assert [hex(word) for word in philox([0, 0, 0, 0], [0, 0])] == [
        *("0x6627e8d5", "0xe169c58d", "0xbc57ac4c", "0x9b00dbd8")
    ]


def test_other_roundings_tell_a_sum_that_cancels_and_a_lost_sign_of_a_zero() -> None:
    x = ot.input("x", (3,))
    program = ot.Program(sum=x.sum(), pole=1.0 / (x[0] * 0.0), first=x[0])
    pdg, given = program.pdg, {"x": np.array([1.0, 1e30, -1e30], "float32")}
    plain = define(Definition(pdg, {"T": 1}, given))[0]
    moved = [define(Unsettled(pdg, {"T": 1}, given, salt=k, signs=True))[0] for k in range(2)]
    assert plain["sum"] == 0.0 and all(abs(each["sum"]) > 1e20 for each in moved)
    assert [each["pole"].item() for each in moved] == [np.inf, -np.inf]
    assert [each["first"].item() for each in moved] == [1.0, 1.0]


def test_laws_of_real_numbers_tell_an_overflow_and_what_follows_from_an_infinity() -> None:
    x = ot.input("x", (3,))
    both = ot.log(ot.exp(x)), x * x + x * 2.0, ot.where(x > 0, x, 0.0)
    pdg = ot.Program(over=both[0], spread=both[1], chosen=both[2]).pdg
    given = {"x": np.array([1000.0, -np.inf, -1000.0], "float32")}
    plain = define(Definition(pdg, {}, given))[0]
    runs = [define(Unsettled(pdg, {}, given, salt=k, signs=True, laws=True))[0] for k in range(8)]
    assert np.isinf(plain["over"]).all()
    assert {bool(np.isfinite(each["over"][k])) for each in runs for k in (0, 2)} == {True, False}
    assert {bool(np.isnan(each["spread"][1])) for each in runs} == {True, False}
    assert not any(np.isfinite(each["spread"][1]) for each in runs)
    assert all(each["chosen"].tolist() == [1000.0, 0.0, 0.0] for each in runs)
