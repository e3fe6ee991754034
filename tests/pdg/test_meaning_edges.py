"""Where definitions have edges: units, conversions, positions, and values outside the box."""

from __future__ import annotations

from typing import Literal

import numpy as np
import pytest

from ostinato.pdg import build, philox
from ostinato.pdg.build import Shape
from ostinato.pdg.index import Extent, Point, Slice, expr
from ostinato.pdg.interpret import Interpreter, interpret, junk
from ostinato.pdg.meaning import convert, fold, positions, product, take
from ostinato.pdg.node import Dtype, Random
from tests.pdg.programs import T, n, program, scalar, series, shifted, t


def test_every_number_but_zero_is_true() -> None:
    assert convert(np.array([0.0, 1.0, -2.5, 0.25]), "bool").tolist() == [False, True, True, True]
    assert convert(np.array([0, 1, 7]), "bool").tolist() == [False, True, True]


def test_floats_convert_to_floats_with_their_fraction() -> None:
    x = np.array([-1.75, 3e9, np.inf])
    assert convert(x, "float32").tolist() == [-1.75, 3e9, np.inf]
    assert convert(x.astype("float32"), "float64").tolist() == [-1.75, 3e9, np.inf]
    assert np.isnan(convert(np.array([np.nan]), "float32")[0])


@pytest.mark.parametrize("dtype", ["int32", "int64", "uint32"])
def test_floats_beyond_an_integer_type_become_its_ends(dtype: Dtype) -> None:
    ends = np.iinfo(dtype)
    top, bottom = float(ends.max), float(ends.min)
    beyond = np.array([top, top * 2, bottom, bottom - 1e19, np.inf, -np.inf])
    low, high = ends.min, ends.max
    assert convert(beyond, dtype).tolist() == [high, high, low, low, high, low]
    assert convert(np.array([2.0**31 - 2, 7.9]), dtype).tolist() == [2**31 - 2, 7]


def test_positions_of_nothing_are_int32() -> None:
    empty = np.zeros((3, 0), "float32")
    assert fold("argmax", empty, (-1,)).dtype == np.int32
    assert fold("argmin", empty, (-1,)).shape == (3,)


def test_a_gather_may_choose_another_number_of_places_than_there_are() -> None:
    x = np.arange(12, dtype="float32").reshape(3, 4)
    index = np.array([[0, 3, 3, 1, 9, 0]])
    np.testing.assert_array_equal(take(x, index, -1), x[:, [0, 3, 3, 1, 3, 0]])
    rows = np.array([[2], [0]])
    np.testing.assert_array_equal(take(x, rows, -2), x[[2, 0]])


def test_the_positions_of_a_slice_follow_the_point() -> None:
    at: Point = {T: 2, Extent("T"): 9}
    assert positions(Slice(t + 1, n - t, 2), at).tolist() == [3, 5]
    assert positions(t * 2, at).tolist() == 4


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_normal_and_uniform_draws_differ_and_follow_the_point(
    dtype: Literal["float32", "float64"],
) -> None:
    size: Shape = (expr(2),)
    kinds = ("uniform", "normal")
    nodes = {k: build.random_node(Random(k, 5), size, dtype, (T,)) for k in kinds}
    out = interpret(program(**nodes), {"T": 3}, {}, seed=9)
    uniform = philox.draw_uniform(9, 5, (1,), (2,), dtype)
    normal = philox.draw_normal(9, 5, (1,), (2,), dtype)
    assert out["uniform"][1].tobytes() == uniform.tobytes()
    assert out["normal"][1].tobytes() == normal.tobytes()


def test_bits_are_keyed_by_seed_stream_and_point() -> None:
    node = build.random_node(Random("bits", 4), (expr(3),), "uint32", (T,))
    out = interpret(program(bits=node), {"T": 2}, {}, seed=8)["bits"]
    assert out.dtype == np.uint32
    np.testing.assert_array_equal(out[1], philox.draw_bits(8, 4, (1,), (3,)))


@pytest.mark.parametrize("exact", [False, True])
def test_what_lies_outside_the_box_has_shape_and_type_of_the_rest(exact: bool) -> None:
    x = build.input_node("x", (n,), "float32", (T,))
    scan, line = build.scan("sum", x, T), build.linear(scalar(0.5), x, T, True)
    graph = program(before=shifted(scan, -1), after=shifted(line, 1), within=line)
    values = np.ones((2, 2), "float32")
    out = interpret(graph, {"T": 2}, {"x": values}, exact=exact)
    assert {v.dtype.name for v in out.values()} == {"float64" if exact else "float32"}
    assert out["before"].tolist() == [[0, 0], [1, 1]]
    assert out["after"].tolist() == [[1, 1], [0, 0]]
    assert out["within"].tolist() == [[1.5, 1.5], [1, 1]]


def test_a_linear_recurrence_may_have_another_gate_at_each_point() -> None:
    gate = build.map_node("cast", (build.affine(t),), "float32")
    line = build.linear(gate, series(), T, False)
    found = interpret(program(y=line), {"T": 4}, {"r": np.ones(4, "float32")})["y"]
    assert found.tolist() == [1, 2, 5, 16]


def test_values_outside_the_box_have_the_shape_and_type_of_the_leaf() -> None:
    x = build.input_node("x", (n, expr(2)), "int32", (T,))
    b = build.input_node("b", (), "bool", (T,))
    run = Interpreter(program(x=shifted(x, 9), b=shifted(b, 9)), {"T": 3}, {}, extension=junk(1))
    far = run.value(shifted(x, 9), (0,))
    assert far.shape == (3, 2) and far.dtype == np.int32
    truths = [bool(run.value(shifted(b, 9), (k,))) for k in range(3)]
    assert run.value(shifted(b, 9), (0,)).dtype == np.bool_ and len(truths) == 3


def test_junk_depends_on_salt_name_and_point_alone() -> None:
    points = [(0,), (1,), (-1,), (2**32 - 2,)]
    values = {(salt, name, p): junk(salt)(name, p, (), "float64").item()
              for salt in (1, 2) for name in "xy" for p in points}  # fmt: skip
    assert len(set(values.values())) == len(values)
    assert values[(1, "x", (0,))] == junk(1)("x", (0,), (), "float64").item()
    spread = junk(3)("x", (5,), (1000,), "float64")
    assert 3.5 < spread.std() < 4.5
    assert 300 < junk(3)("x", (5,), (1000,), "bool").sum() < 700


def test_values_outside_the_box_do_not_enter_the_history_of_a_slice() -> None:
    """A history holds the points of the box: the last one has no neighbour in it."""
    x = series("x")
    beyond, whole = shifted(x, 1), build.read(x, [(T, Slice(expr(0), n))])
    run = Interpreter(
        program(a=beyond, b=whole, c=shifted(x, -1)),
        {"T": 3}, {"x": np.arange(3, dtype="float32")}, extension=junk(1),
    )  # fmt: skip
    for outside in (beyond, shifted(x, -1)):
        run.everywhere(outside)
    assert run.value(whole, ()).tolist() == [0, 1, 2]


@pytest.mark.parametrize("half", ["float16", "bfloat16"])
def test_halves_convert_by_way_of_float32(half: Dtype) -> None:
    wide = np.array([1.1, -2.5, 7001.0, 2.0**-24 * 1.3])
    made = convert(wide, half)
    assert made.dtype.name == half
    assert made.tolist() == wide.astype("float32").astype(half).tolist()
    assert convert(made[:2], "float64").tolist() == [float(made[0]), -2.5]
    assert convert(made[:2], "int32").tolist() == [1, -2]
    assert convert(made[:2], "bool").tolist() == [True, True]


@pytest.mark.parametrize("count", [0, 1, 7, 8, 33, 1000])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_a_row_has_the_same_sums_alone_and_among_others(count: int, dtype: Dtype) -> None:
    rng = np.random.default_rng(count)
    rows, matrix = (rng.normal(size=(n, count)).astype(dtype) for n in (5, 3))
    added, multiplied = fold("sum", rows, (-1,)), product(rows, matrix.T)
    assert added.tobytes() == fold("sum", rows.T.copy(), (0,)).tobytes()
    for k, row in enumerate(rows):
        assert added[k].tobytes() == fold("sum", row, (0,)).tobytes()
        assert multiplied[k].tobytes() == product(row[None], matrix.T)[0].tobytes()


def test_sums_over_several_axes_do_not_follow_the_layout() -> None:
    x = np.random.default_rng(0).normal(size=(9, 11, 4))
    turned = np.asfortranarray(x)
    assert fold("sum", x, (0, 2)).tobytes() == fold("sum", turned, (0, 2)).tobytes()
    assert np.allclose(fold("sum", x, (-1, -3)), x.sum((0, 2)), rtol=1e-14)
    assert fold("sum", np.zeros((3, 0, 0)), (1,)).shape == (3, 0)
