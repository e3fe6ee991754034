"""Tensor operators at one point: their values, dtypes and edge cases."""

from collections.abc import Callable

import numpy as np
import pytest

from ostinato.pdg import build
from ostinato.pdg.build import Shape
from ostinato.pdg.functions import Array
from ostinato.pdg.index import Slice, expr
from ostinato.pdg.interpret import interpret
from ostinato.pdg.meaning import convert, fold, take
from ostinato.pdg.node import Dtype, Node
from tests.pdg.programs import B, T, n, program, t

X = np.arange(-3, 9, dtype="float32").reshape(3, 4)


def shape(*sizes: int) -> Shape:
    return tuple(expr(s) for s in sizes)


def given(name: str, x: Array) -> Node:
    dtype: Dtype = "float32" if x.dtype == np.float32 else "int32"
    return build.input_node(name, shape(*x.shape), dtype, ())


def value(op: Callable[[Node], Node], x: Array = X) -> Array:
    return interpret(program(y=op(given("x", x))), {"B": 1, "T": 3}, {"x": x})["y"]


@pytest.mark.parametrize("fn", ["sum", "prod", "max", "min", "argmax", "argmin"])
def test_a_fold_is_that_of_numpy(fn: str) -> None:
    expected = np.asarray(getattr(np, fn)(X, axis=1))
    out = value(lambda x: build.reduce_node(fn, x, [-1]))
    np.testing.assert_array_equal(out, expected)
    assert out.dtype == (np.int32 if fn.startswith("arg") else np.float32)


def test_empty_folds_give_the_unit() -> None:
    empty = np.zeros((2, 0), "int32")
    assert fold("sum", empty, (-1,)).tolist() == [0, 0]
    assert fold("max", empty, (-1,)).tolist() == [np.iinfo("int32").min] * 2
    assert fold("argmax", empty, (-1,)).tolist() == [0, 0]
    assert fold("all", empty.astype(bool), (-1,)).tolist() == [True, True]


def test_movement_operators_are_those_of_numpy() -> None:
    moved: dict[str, tuple[Callable[[Node], Node], Array]] = {
        "reshape": (lambda x: build.reshape(x, shape(2, 6)), X.reshape(2, 6)),
        "tail": (lambda x: build.reshape(x, shape(2, 2), 1), X.reshape(3, 2, 2)),
        "transpose": (lambda x: build.transpose(x, (-1, -2)), X.T),
        "concat": (lambda x: build.concat((x, x), 0), np.concatenate([X, X])),
        "part": (lambda x: build.part(x, 0, expr(1)), X[1]),
        "slice": (lambda x: build.part(x, -1, Slice(expr(1), expr(4), 2)), X[:, 1:4:2]),
    }
    for name, (op, expected) in moved.items():
        np.testing.assert_array_equal(value(op), expected, err_msg=name)


def test_a_broadcast_repeats_axes_of_size_one() -> None:
    column = X[:, :1]
    out = value(lambda x: build.broadcast(x, shape(3, 5)), column)
    np.testing.assert_array_equal(out, np.repeat(column, 5, axis=1))


def test_a_matrix_product_broadcasts_its_leading_axes() -> None:
    a, b = X.reshape(3, 1, 4), X.T.reshape(1, 4, 3)
    product = build.matmul(given("a", a), given("b", b))
    out = interpret(program(y=product), {}, {"a": a, "b": b})["y"]
    np.testing.assert_allclose(out, a @ b)


def test_a_gather_clamps_and_broadcasts() -> None:
    index = np.array([[-5], [1], [99]], "int32")
    np.testing.assert_array_equal(take(X, index, -1), [[X[0, 0]], [X[1, 1]], [X[2, 3]]])
    np.testing.assert_array_equal(take(X[:1], index, -1), X[0, [[0], [1], [3]]])


def test_integer_arithmetic_wraps_and_divides_like_numpy_without_warnings() -> None:
    big = np.array([2**31 - 1, -7, 5], "int32")
    one = build.const(1, "int32")
    assert value(lambda x: build.map_node("add", (x, one)), big).tolist() == [-(2**31), -6, 6]
    three, zero = build.const(3, "int32"), build.const(0, "int32")
    assert value(lambda x: build.map_node("floordiv", (x, three)), big).tolist()[1:] == [-3, 1]
    assert value(lambda x: build.map_node("mod", (x, three)), big).tolist()[1:] == [2, 2]
    assert value(lambda x: build.map_node("floordiv", (x, zero)), big).tolist() == [0, 0, 0]


def test_a_cast_truncates_saturates_and_drops_nan() -> None:
    x = np.array([-1.7, 1e20, -1e20, np.nan, np.inf], "float32")
    assert convert(x, "int32").tolist() == [-1, 2**31 - 1, -(2**31), 0, 2**31 - 1]
    assert convert(x, "int64").tolist()[1:3] == [2**63 - 1, -(2**63)]
    assert convert(x, "bool").tolist() == [True] * 5
    assert convert(np.array([-1]), "uint32").tolist() == [2**32 - 1]


def test_literals_fill_their_shape() -> None:
    full = build.const(2.5, "float32", shape(2, 3))
    rows = build.const((1, 2, 3, 4), "int32", shape(2, 2))
    out = interpret(program(full=full, rows=rows), {}, {})
    np.testing.assert_array_equal(out["full"], np.full((2, 3), 2.5))
    np.testing.assert_array_equal(out["rows"], [[1, 2], [3, 4]])


def test_index_values_and_ranges_follow_the_point() -> None:
    graph = program(at=build.affine(t * 2 - n), range=build.iota(t + 1))
    out = interpret(graph, {"T": 3}, {})
    assert out["at"].tolist() == [-3, -1, 1]
    assert out["range"].tolist() == [[0, 0, 0], [0, 1, 0], [0, 1, 2]]


def test_an_output_over_two_dimensions_has_them_in_declaration_order() -> None:
    both = build.map_node("sub", (build.affine(T), build.affine(B)))
    out = interpret(program(y=both), {"B": 2, "T": 3}, {})["y"]
    assert out.tolist() == [[0, 1, 2], [-1, 0, 1]]
