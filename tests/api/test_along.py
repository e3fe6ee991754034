"""Functions of a whole axis mean what NumPy's do."""

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import ostinato as ot

Array = npt.NDArray[Any]
A = np.array(
    [[[1.5, -2.0, 3.0], [0.25, 4.0, -1.0]], [[3.0, 0.0, 3.0], [2.0, -4.0, 1.0]]], "float32"
)
K = np.array([[3, -1, 3, 0], [2, 2, 5, -7]], "int32")
CUMULATIVE: dict[str, Callable[..., Array]] = {
    "cumsum": np.cumsum,
    "cumprod": np.cumprod,
    "cummax": np.maximum.accumulate,
    "cummin": np.minimum.accumulate,
    "logcumsumexp": np.logaddexp.accumulate,
}


def value(tensor: object) -> Array:
    return ot.Program(y=tensor).interpret()["y"]


def same(tensor: ot.Tensor, expected: Any) -> None:
    found = value(tensor)
    assert found.shape == np.shape(expected)
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("axis", [0, 1, -1])
@pytest.mark.parametrize("name", CUMULATIVE)
def test_cumulative_functions(name: str, axis: int) -> None:
    same(getattr(ot, name)(ot.constant(A), axis), CUMULATIVE[name](A, axis=axis))


@pytest.mark.parametrize("name", ["cumsum", "cumprod", "cummax", "cummin"])
def test_cumulative_functions_of_integers_stay_integers(name: str) -> None:
    found = value(getattr(ot, name)(ot.constant(K), axis=1))
    assert found.dtype == np.int32
    assert np.array_equal(found, CUMULATIVE[name](K, axis=1))


def test_without_an_axis_all_elements_follow_each_other() -> None:
    same(ot.constant(A).cumsum(), A.cumsum())
    same(ot.constant(A).cumprod(), A.cumprod())
    same(ot.sort(ot.constant(A), axis=None), np.sort(A, axis=None))


def test_nan_stays_in_what_follows() -> None:
    row = np.array([1.0, np.nan, 3.0], "float32")
    same(ot.cummax(ot.constant(row), axis=0), [1.0, np.nan, np.nan])
    same(ot.logcumsumexp(ot.constant([-np.inf, -np.inf, 0.0]), axis=0), [-np.inf, -np.inf, 0.0])


@pytest.mark.parametrize("reverse", [False, True])
def test_a_linear_recurrence_of_broadcast_gates(reverse: bool) -> None:
    gates = np.array([[0.5], [2.0]], "float32")
    expected = A.copy()
    for k in (1, 0) if reverse else (1, 2):
        expected[..., k] += gates[:, 0] * expected[..., k + 1 if reverse else k - 1]
    same(ot.linear_recurrence(ot.constant(gates), ot.constant(A), reverse=reverse), expected)


def test_a_constant_gate_discounts() -> None:
    row = ot.constant([1.0, 0.0, 2.0])
    same(ot.linear_recurrence(0.5, row), [1.0, 0.5, 2.25])
    same(ot.linear_recurrence(ot.constant([2.0, 2.0]), 1), [1.0, 3.0])


@pytest.mark.parametrize("axis", [0, 1, -1])
def test_sorting(axis: int) -> None:
    x = ot.constant(A)
    same(ot.sort(x, axis), np.sort(A, axis))
    assert np.array_equal(value(x.argsort(axis)), np.argsort(A, axis, kind="stable"))
    same(ot.sort(x, axis, descending=True), -np.sort(-A, axis))
    assert np.array_equal(
        value(ot.argsort(x, axis, descending=True)), np.argsort(-A, axis, kind="stable")
    )


def test_booleans_and_unsigned_integers_have_an_order() -> None:
    assert value(ot.sort(ot.constant([True, False, True]))).tolist() == [False, True, True]
    unsigned = ot.constant(np.array([3, 0, 2**32 - 1], "uint32"))
    assert value(ot.argsort(unsigned, descending=True)).tolist() == [2, 0, 1]


def test_nan_is_last_in_order_and_first_in_descending_order() -> None:
    row = ot.constant([1.0, np.nan, -np.inf, 2.0])
    same(ot.sort(row), [-np.inf, 1.0, 2.0, np.nan])
    same(ot.sort(row, descending=True), [np.nan, 2.0, 1.0, -np.inf])


def test_the_greatest_come_with_their_positions() -> None:
    best, position = ot.top_k(ot.constant(K), 2)
    assert value(best).tolist() == [[3, 3], [5, 2]]
    assert value(position).tolist() == [[0, 2], [2, 0]]
    best, _ = ot.top_k(ot.constant(A), 1, axis=0)
    same(best, A.max(0, keepdims=True))


@pytest.mark.parametrize("axis", [None, 0, -1])
@pytest.mark.parametrize("keepdims", [False, True])
def test_the_median(axis: int | None, keepdims: bool) -> None:
    same(ot.median(ot.constant(A), axis, keepdims), np.median(A, axis=axis, keepdims=keepdims))


def test_the_median_with_a_nan_is_nan() -> None:
    rows = np.array([[1.0, np.nan, 3.0], [5.0, 4.0, 9.0]], "float32")
    same(ot.median(ot.constant(rows), axis=1), [np.nan, 5.0])


@pytest.mark.parametrize("side", ["left", "right"])
def test_searching_one_row_for_values_of_any_shape(side: Any) -> None:
    row = np.array([-1.0, 0.0, 0.0, 2.0], "float32")
    found = value(ot.constant(row).searchsorted(ot.constant(A), side))
    assert np.array_equal(found, np.searchsorted(row, A, side))
    assert value(ot.searchsorted(ot.constant(row), 0, side)) == np.searchsorted(row, 0, side)


def test_searching_row_by_row() -> None:
    rows = np.sort(K, axis=1)
    found = value(ot.searchsorted(ot.constant(rows), ot.constant([[0], [2]]), "right"))
    assert found.tolist() == [[2], [3]]


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_a_scatter_of_parts_is_the_reverse_of_take(axis: int) -> None:
    index = np.array([1, 4, 1], "int32")[: A.shape[axis]]
    shape = [4 if k == axis else n for k, n in enumerate(A.shape)]
    expected = np.zeros(shape, "float32")
    for k, to in enumerate(index):
        if to < 4:
            place = (*[slice(None)] * axis, to)
            expected[place] += np.take(A, k, axis)
    same(ot.scatter_add(ot.constant(A), ot.constant(index), 4, axis), expected)


@pytest.mark.parametrize("dtype", ["int32", "int64", "uint32"])
def test_a_scatter_of_elements_drops_positions_outside(dtype: str) -> None:
    index = np.array([[0, 2, 2, 7], [1, 3, 1, 0]], dtype)
    found = value(ot.scatter_add(ot.constant(K), ot.constant(index), 3, axis=1))
    assert found.tolist() == [[3, 0, 2], [-7, 7, 0]]


def test_a_single_position_collects_everything() -> None:
    assert value(ot.scatter_add(ot.constant(K), 1, size=2)).tolist() == [[0, 5], [0, 2]]


def test_positions_that_int32_cannot_hold_are_outside() -> None:
    index = np.array([2**32 + 1, -(2**40), 1], "int64")
    assert value(ot.scatter_add(1, ot.constant(index), size=2)).tolist() == [0, 1]
    assert value(ot.scatter_add(ot.constant(3), ot.constant(index), size=2)).tolist() == [0, 3]


def test_an_axis_may_be_as_long_as_a_dimension() -> None:
    t = ot.dims("t")
    x = ot.input("x", over=t)
    best = ot.cummax(x[: t + 1], axis=0)[..., t]
    out = ot.Program(y=ot.sort(x[:]), best=best).interpret(x=[2.0, 3.0, 1.0])
    assert out["y"].tolist() == [1, 2, 3] and out["best"].tolist() == [2, 3, 3]


def test_gradients_pass_through_an_order_to_where_the_elements_came_from() -> None:
    x = ot.constant([3.0, 1.0, 2.0])
    weights = ot.constant([1.0, 10.0, 100.0])
    same(ot.grad((ot.sort(x) * weights).sum(), x), [100.0, 1.0, 10.0])
    same(ot.grad(ot.median(x), x), [0.0, 0.0, 1.0])
    same(ot.grad((ot.cumprod(x, 0) * weights).sum(), x), [1 + 10 + 200.0, 30 + 600.0, 300.0])


def test_gradients_take_no_position_outside_an_axis() -> None:
    x = ot.constant([3.0, 1.0, 2.0])
    moved = ot.scatter_add(x, ot.constant([0, 5, -1]), 2)
    running = ot.cumprod(x, 0) + ot.cummax(x, 0) + ot.logcumsumexp(x, 0)
    program = ot.Program(moved=ot.grad((moved * moved).sum(), x), running=ot.grad(running.sum(), x))
    found, expected = program.compile(checks=True)(), program.interpret()
    assert found["moved"].tolist() == [6.0, 0.0, 0.0]
    np.testing.assert_allclose(found["running"], expected["running"], rtol=1e-5)
