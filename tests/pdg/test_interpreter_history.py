"""What the interpreter keeps: slices read from a history, and values that it keeps none of."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from ostinato.pdg import build
from ostinato.pdg.condition import ALWAYS
from ostinato.pdg.errors import CycleError
from ostinato.pdg.functions import Array
from ostinato.pdg.index import Dim, Expr, Slice, expr
from ostinato.pdg.interpret import Coordinates, Interpreter, interpret, junk
from ostinato.pdg.node import Dtype, Equation, Random
from tests.pdg.programs import B, T, add, n, program, scalar, series, shifted, t, window

R = np.array([1, 2, 4], "float32")


def test_a_slice_of_vectors_is_stacked_at_every_step() -> None:
    x = build.input_node("x", (n,), "float32", (T,))
    rows = np.arange(9, dtype="float32").reshape(3, 3)
    found = interpret(program(y=window(x, expr(0), t + 1)), {"T": 3}, {"x": rows})["y"]
    for k in range(3):
        np.testing.assert_array_equal(found[k, : k + 1], rows[: k + 1])


def test_a_slice_of_values_whose_size_follows_the_point() -> None:
    x = add(build.map_node("cast", (build.iota(t + 1),), "float32"), series("q"))
    both = add(x, build.map_node("cast", (build.affine(B),), "float32"))
    y = build.read(both, [(B, Slice(expr(0), expr(2)))])
    found = interpret(program(y=y), {"T": 3, "B": 2}, {"q": R})["y"]
    np.testing.assert_array_equal(found[1], [[2, 3, 0], [3, 4, 0]])


@pytest.mark.parametrize(("exact", "dtype"), [(False, "int64"), (True, "float32")])
def test_a_history_keeps_every_digit(exact: bool, dtype: Dtype) -> None:
    x = build.input_node("x", (), dtype, (T,))
    values = np.array([2**53 + 1, 7]) if dtype == "int64" else np.array([1 / 3, 1 / 7])
    graph = program(first=x, y=build.read(x, [(T, Slice(expr(0), n))]))
    found = interpret(graph, {"T": 2}, {"x": values}, exact=exact)["y"]
    assert found.tolist() == values.tolist()


@pytest.mark.parametrize(
    ("lo", "hi"), [(expr(-1), expr(2)), (expr(1), expr(4)), (expr(-1), expr(4))], ids=str
)
def test_a_slice_that_leaves_the_box_reads_the_extension_there(lo: Expr, hi: Expr) -> None:
    x = series("x")
    y = window(x, lo, hi)
    run = Interpreter(program(x=x, y=y), {"T": 3}, {"x": R}, extension=junk(1))
    run.everywhere(x)
    expected = [run.value(shifted(x, k), (0,)) for k in range(lo.const, hi.const)]
    assert run.value(y, ()).tolist() == expected


@pytest.mark.parametrize("span", [slice(1, 3), slice(0, 4, 2), slice(1, 4, 2)], ids=str)
def test_a_slice_of_known_values_has_its_begin_end_and_step(span: slice) -> None:
    x = series("x")
    y = build.read(x, [(T, Slice(expr(span.start), expr(span.stop), span.step or 1))])
    values = np.arange(4, dtype="float32")
    run = Interpreter(program(x=x, y=y), {"T": 4}, {"x": values})
    run.everywhere(x)
    assert run.value(y, ()).tolist() == values[span].tolist()


def test_a_slice_over_what_a_value_does_not_depend_on_repeats_it() -> None:
    x, later = build.input_node("x", (), "float32", (B,)), Slice(expr(0), expr(3))
    y = build.read(x, [(B, Slice(expr(0), expr(2))), (T, later)])
    found = interpret(program(y=y), {"B": 2, "T": 3}, {"x": R[:2]})["y"]
    assert found.tolist() == [[1, 1, 1], [2, 2, 2]]


def test_a_node_of_which_no_value_is_kept_may_be_asked_for() -> None:
    inner = build.map_node("neg", (series(),))
    run = Interpreter(program(y=build.map_node("abs", (inner,))), {"T": 3}, {"r": R})
    assert [run.value(inner, (k,)).item() for k in range(3)] == [-1, -2, -4]


def test_a_node_outside_the_program_may_be_asked_for_and_reads_a_value_twice() -> None:
    run = Interpreter(program(y=series()), {"T": 3}, {"r": R})
    inner = build.map_node("neg", (series(),))
    assert run.value(add(inner, inner), (2,)) == -8


def test_a_cycle_is_found_where_the_asked_value_only_reads_it() -> None:
    asked: list[Coordinates] = []

    def once(name: str, at: Coordinates, shape: tuple[int, ...], dtype: Dtype) -> Array:
        assert at not in asked, "the way round the cycle was taken twice"
        asked.append(at)
        return np.zeros(shape)

    c = build.rec("c", (), "float32", (T,))
    round_again = add(series("free"), shifted(c, 0))
    y = add(shifted(c, -1), scalar(1.0))
    graph = program(Equation(c, ((ALWAYS, round_again),)), y=y)
    with pytest.raises(CycleError, match="`c` at t = 0 needs itself"):
        Interpreter(graph, {"T": 3}, {}, extension=once).value(y, (1,))


@pytest.mark.parametrize(("given", "dtype"), [("float64", "float32"), ("int64", "float64")])
def test_values_have_the_declared_type_whatever_was_passed(given: str, dtype: Dtype) -> None:
    x = build.input_node("x", (), dtype, (T,))
    run = Interpreter(program(x=x), {"T": 2}, {"x": np.array([1, 2], given)})
    assert run.value(x, (1,)).dtype == dtype


def test_nothing_is_warned_of() -> None:
    root = build.map_node("log", (build.map_node("sqrt", (series(),)),))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = interpret(program(y=root), {"T": 2}, {"r": np.array([0, -1], "float32")})["y"]
    assert np.isneginf(found[0]) and np.isnan(found[1])


def test_a_padded_output_of_no_points_is_empty() -> None:
    found = interpret(program(y=build.iota(t + 1)), {"T": 0}, {})["y"]
    assert found.shape == (0, 0)


def test_a_free_recurrence_has_the_shape_and_type_that_it_declares() -> None:
    seen: list[tuple[str, Coordinates, tuple[int, ...], Dtype]] = []

    def look(name: str, at: Coordinates, shape: tuple[int, ...], dtype: Dtype) -> Array:
        seen.append((name, at, shape, dtype))
        return np.ones(shape, dtype)

    y = build.rec("y", (n, expr(2)), "bool", (T,))
    assert Interpreter(program(y=y), {"T": 3}, {}, extension=look).value(y, (1,)).all()
    assert seen == [("y", (1,), (3, 2), "bool")]


def test_the_seed_is_zero_where_none_is_given() -> None:
    draw = build.random_node(Random("uniform", 0), (n,), "float32", ())
    unseeded = interpret(program(u=draw), {"T": 4}, {})["u"]
    assert unseeded.tolist() == interpret(program(u=draw), {"T": 4}, {}, seed=0)["u"].tolist()
    assert len(unseeded) == 4


def test_dimensions_keep_their_order_in_a_history() -> None:
    c = Dim("c")
    x = build.input_node("x", (), "float32", (T, c))
    values = np.arange(6, dtype="float32").reshape(3, 2)
    y = build.read(x, [(c, Slice(expr(0), expr(2))), (T, Slice(expr(1), n))])
    found = interpret(program(x=x, y=y), {"T": 3, "c": 2, "C": 2}, {"x": values})["y"]
    np.testing.assert_array_equal(found, values[1:])
