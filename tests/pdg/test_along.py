"""Functions of a whole axis against definitions written as loops, and what they refuse."""

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from ostinato.pdg import build
from ostinato.pdg.axis_functions import AXIS_FUNCTIONS, along_axis
from ostinato.pdg.errors import DtypeError, ShapeError
from ostinato.pdg.functions import Array
from ostinato.pdg.index import Dim, Slice, expr
from ostinato.pdg.interpret import interpret
from ostinato.pdg.invariants import verify
from ostinato.pdg.node import Dtype, Node, Pdg
from ostinato.pdg.text.printer import show

T = Dim("t")
FOLDS: dict[str, Callable[[Array], Any]] = {
    "sum": np.sum,
    "prod": np.prod,
    "max": np.max,
    "min": np.min,
    "logsumexp": lambda row: np.log(np.sum(np.exp(row))),
}
numbers = st.floats(-3, 3, width=32)
matrices = arrays.arrays(
    np.float64, st.tuples(st.integers(0, 3), st.integers(0, 5)), elements=numbers
)


def tensor(name: str, *shape: int, dtype: Dtype = "float32") -> Node:
    return build.input_node(name, tuple(map(expr, shape)), dtype, ())


def value(node: Node, **inputs: Array) -> Array:
    pdg = Pdg((("y", node),), {})
    verify(pdg)
    return interpret(pdg, {"T": 4}, inputs)["y"]


@pytest.mark.parametrize("fn", FOLDS)
@given(x=matrices)
def test_a_cumulative_function_folds_every_prefix(fn: str, x: Array) -> None:
    found = along_axis(fn, [x], -1, x.shape[1])
    assert found.shape == x.shape
    for r, k in np.ndindex(x.shape):
        np.testing.assert_allclose(found[r, k], FOLDS[fn](x[r, : k + 1]), atol=1e-12)


@given(x=matrices, gate=numbers)
def test_a_linear_recurrence_follows_its_equation(x: Array, gate: float) -> None:
    y = along_axis("linear", [np.full_like(x, gate), x], -1, x.shape[1])
    before = np.concatenate([np.zeros((len(x), 1)), y[:, :-1]], 1)[:, : x.shape[1]]
    np.testing.assert_allclose(y, x + gate * before, atol=1e-12)


@given(x=arrays.arrays(np.float32, st.integers(0, 8), elements=st.sampled_from([1.0, 2.0, np.nan])))
def test_an_order_is_stable_and_puts_nan_last(x: Array) -> None:
    found = along_axis("argsort", [x], -1, len(x))
    rank = np.where(np.isnan(x), 3, x)
    assert found.dtype == np.int32
    assert found.tolist() == sorted(range(len(x)), key=lambda k: (rank[k], k))


def test_every_order_of_four_numbers_comes_from_one_row_of_choices() -> None:
    rows = np.array(list(itertools.product(range(1), range(2), range(3), range(4))), "int32")
    found = along_axis("shuffle", [rows], -1, 4)
    orders = sorted(tuple(int(k) for k in row) for row in found)
    assert len(rows) == 24 and orders == list(itertools.permutations(range(4)))


def test_a_choice_out_of_range_is_the_nearest_one() -> None:
    rows = [np.array([[5, -3, 9], [0, 0, 2]], "int32")]
    assert along_axis("shuffle", rows, -1, 3).tolist() == [[1, 0, 2]] * 2


@given(
    row=st.lists(st.integers(0, 4), max_size=6).map(sorted),
    values=st.lists(st.integers(-1, 5), max_size=4),
)
def test_a_search_counts_what_comes_before(row: list[int], values: list[int]) -> None:
    both = [np.array(row, "int32"), np.array(values, "int32")]
    left, right = (along_axis(f"search{side}", both, -1, len(values)) for side in ("left", "right"))
    assert left.tolist() == [sum(x < v for x in row) for v in values]
    assert right.tolist() == [sum(x <= v for x in row) for v in values]


@given(x=matrices, size=st.integers(0, 4), seed=st.integers(0, 99))
def test_a_scatter_adds_what_names_a_place_and_drops_the_rest(
    x: Array, size: int, seed: int
) -> None:
    index = np.random.default_rng(seed).integers(-2, 6, x.shape).astype("int32")
    found = along_axis("scatter", [x, index], -1, size)
    assert found.shape == (len(x), size)
    for r, i in np.ndindex(found.shape):
        np.testing.assert_allclose(found[r, i], x[r][index[r] == i].sum(), atol=1e-12)


@pytest.mark.parametrize("dtype", ["int32", "int64", "uint32", "float32", "float64"])
@pytest.mark.parametrize("fn", AXIS_FUNCTIONS)
def test_results_have_the_inferred_type(fn: str, dtype: Dtype) -> None:
    function = AXIS_FUNCTIONS[fn]
    if dtype not in function.accepts:
        return
    x, v = tensor("x", 3, dtype=dtype), tensor("v", 3, dtype="int32" if fn == "scatter" else dtype)
    size = expr(3) if function.size_of == "declared" else None
    node = build.along(fn, [x, v][: function.arity], -1, size)
    rows = {"x": np.array([1, 2, 3], dtype), "v": np.array([1, 0, 1], v.dtype)}
    assert value(node, **rows).dtype == node.dtype


def test_other_axes_are_pointwise_and_broadcast() -> None:
    x, row = np.arange(12.0).reshape(2, 3, 2), np.array([[0, 1, 1]], "int32").reshape(1, 3, 1)
    node = build.along("scatter", [tensor("x", 2, 3, 2), tensor("i", 1, 3, 1, dtype="int32")], -2,
                       expr(2))  # fmt: skip
    got = value(node, x=x, i=row)
    assert got.tolist() == np.stack([x[:, 0], x[:, 1] + x[:, 2]], 1).tolist()


def test_an_axis_may_grow_with_the_point() -> None:
    x = build.input_node("x", (), "float32", (T,))
    prefix = build.read(x, [(T, Slice(expr(0), expr(T) + 1))])
    last = build.part(build.along("prod", [prefix], -1), -1, expr(T))
    assert value(last, x=np.array([1.0, 2.0, 3.0, 4.0])).tolist() == [1, 2, 6, 24]


def test_the_size_of_a_scatter_may_depend_on_the_point() -> None:
    one, index = tensor("u", 2), build.const([0, 2], "int32", (expr(2),))
    node = build.along("scatter", [one, index], -1, expr(T) + 1)
    assert node.domain == (T,)
    total = build.reduce_node("sum", node, [-1])
    assert value(total, u=np.array([1.0, 10.0])).tolist() == [1, 1, 11, 11]


def test_functions_of_an_axis_print_under_their_names() -> None:
    x, i = tensor("x", 2), tensor("i", 2, dtype="int32")
    nodes = [build.along("logsumexp", [x], -1), build.along("scatter", [x, i], -1, expr(5))]
    text = show(Pdg(tuple(zip("ab", nodes, strict=True)), {}))
    assert "logcumsumexp(x, axis=-1)" in text and "scatter_add(x, i, axis=-1, size=5)" in text


def test_operands_of_two_types_or_sizes_are_refused() -> None:
    x, y, whole = tensor("x", 2), tensor("y", 3), tensor("k", 2, dtype="int32")
    with pytest.raises(DtypeError, match="one type out of"):
        build.along("linear", [x, whole], -1)
    with pytest.raises(DtypeError, match="`logcumsumexp` of `k`"):
        build.along("logsumexp", [whole], -1)
    with pytest.raises(DtypeError, match="positions must be int32"):
        build.along("scatter", [x, x], -1, expr(2))
    with pytest.raises(ShapeError, match="one size along that axis"):
        build.along("linear", [x, y], -1)
    with pytest.raises(ShapeError, match="axis 1 of"):
        build.along("sum", [x], 1)
