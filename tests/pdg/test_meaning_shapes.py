"""Operators with sizes that are extents or follow the point, and with inner axes."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from ostinato.pdg import build
from ostinato.pdg.functions import Array
from ostinato.pdg.index import Slice, expr
from ostinato.pdg.interpret import Interpreter, interpret, junk
from ostinato.pdg.meaning import convert, fold
from ostinato.pdg.node import Dtype, Node
from tests.pdg.programs import T, n, program, scalar, t

CUBE = np.arange(24, dtype="float32").reshape(2, 3, 4)


def cube() -> Node:
    return build.input_node("x", (expr(2), n, expr(4)), "float32", ())


def value(node: Node, x: Array = CUBE, exact: bool = False) -> Array:
    return interpret(program(y=node), {"T": 3}, {"x": x}, exact=exact)["y"]


def test_shapes_of_extents_are_known_when_the_program_runs() -> None:
    assert value(build.const(2.5, "float32", (n,))).tolist() == [2.5] * 3
    flat = build.reshape(cube(), (n * 4,), 2)
    np.testing.assert_array_equal(value(flat), CUBE.reshape(2, 12))
    column = build.input_node("x", (expr(2), expr(1)), "float32", ())
    wide = value(build.broadcast(column, (n,)), CUBE[:, :1, 0])
    assert wide.tolist() == [[0] * 3, [12] * 3]


def test_a_transpose_of_trailing_axes_leaves_the_others() -> None:
    np.testing.assert_array_equal(value(build.transpose(cube(), (-1, -2))), CUBE.transpose(0, 2, 1))
    turned = build.transpose(cube(), (-2, -1, -3))
    np.testing.assert_array_equal(value(turned), CUBE.transpose(1, 2, 0))


def test_values_are_joined_along_the_axis_that_is_named() -> None:
    joined = build.concat((cube(), cube()), -1)
    np.testing.assert_array_equal(value(joined), np.concatenate([CUBE, CUBE], -1))


def test_a_part_outside_its_axis_is_clamped_where_everything_is_total() -> None:
    v = build.input_node("v", (expr(3),), "float32", ())
    y = build.part(v, -1, t + 2)
    run = Interpreter(program(y=y), {"T": 3}, {"v": CUBE[0, 0, :3]}, extension=junk(1))
    assert run.everywhere(y).tolist() == [2, 2, 2]


def test_a_function_of_an_axis_knows_its_operands_axis_and_size() -> None:
    np.testing.assert_array_equal(value(build.along("sum", [cube()], -2)), CUBE.cumsum(1))
    places = build.const((1, 0, 7), "int32", (expr(3),))
    updates = build.const((5.0, 6.0, 9.0), "float32", (expr(3),))
    found = value(build.along("scatter", [updates, places], -1, t))
    assert found.tolist() == [[0, 0], [6, 0], [6, 5]]


def test_ranges_and_index_values_wrap_and_end_like_int32() -> None:
    out = interpret(program(at=build.affine(t * 2**31), ends=build.iota(1 - t)), {"T": 3}, {})
    assert out["at"].tolist() == [0, -(2**31), 0] and out["at"].dtype == np.int32
    assert out["ends"].tolist() == [[0], [0], [0]]


@pytest.mark.parametrize("size", [0, 1, 3])
def test_a_range_that_ends_before_it_begins_is_empty(size: int) -> None:
    out = interpret(program(k=build.read(build.iota(t - 1), [(T, expr(size))])), {"T": 4}, {})
    assert out["k"].tolist() == list(range(size - 1))


def test_a_cast_saturates_in_a_program() -> None:
    x = np.array([1e20, np.nan, -2.5], "float32")
    node = build.map_node("cast", (build.input_node("x", (n,), "float32", ()),), "int32")
    assert value(node, x).tolist() == [2**31 - 1, 0, -2]


@pytest.mark.parametrize("dtype", ["int32", "bool", "float16", "float32"])
def test_only_floats_are_widened_in_an_exact_evaluation(dtype: Dtype) -> None:
    node = build.const(1, dtype)
    expected = "float64" if dtype.startswith("float") else dtype
    assert value(node, exact=True).dtype == expected


def test_literals_are_rounded_to_their_type() -> None:
    assert value(scalar(0.1)).item() == float(np.float32(0.1))
    assert value(scalar(0.1), exact=True).item() == 0.1
    assert value(build.const(2**62 + 1, "int64")).item() == 2**62 + 1


def test_a_float64_reaches_a_half_by_way_of_float32() -> None:
    tie = 1 + 2.0**-11 + 2.0**-30  # float32 drops the last bit; then the tie goes to even
    assert convert(np.array([tie]), "float16").tolist() == [1.0]
    assert np.float16(tie) > 1


def test_a_conversion_of_what_does_not_fit_warns_of_nothing() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert convert(np.array([1e20, np.inf]), "int32").tolist() == [2**31 - 1] * 2


@pytest.mark.parametrize(("fn", "expected"), [("any", [True, False]), ("all", [False, False])])
def test_truths_are_folded(fn: str, expected: list[bool]) -> None:
    x = np.array([[True, False], [False, False]])
    assert fold(fn, x, (-1,)).tolist() == expected
    assert fold(fn, x, (-2, -1)).tolist() == (fn == "any")


@pytest.mark.parametrize("dtype", ["int32", "uint32", "float32"])
@pytest.mark.parametrize("fn", ["sum", "max", "argmax", "argmin"])
def test_a_fold_keeps_the_type_of_its_values(fn: str, dtype: Dtype) -> None:
    found = fold(fn, np.ones((2, 2), dtype), (-1,)).dtype
    assert found == ("int32" if fn.startswith("arg") else dtype)


def test_a_slice_of_an_axis_follows_the_point() -> None:
    tail = build.reduce_node("sum", build.part(cube(), -2, Slice(t, n)), [-1, -2, -3])
    assert value(tail).tolist() == [CUBE[:, k:].sum() for k in range(3)]
