"""Operators, promotion and functions mean what NumPy's do."""

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import ostinato as ot
from ostinato.pdg.errors import DtypeError, ShapeError, TruthError

A = np.array([[1.5, -2.0, 3.0], [0.25, 4.0, -1.0]], np.float32)
B = np.array([2.0, 3.0, -0.5], np.float32)
N = np.array([[5, -7, 3], [2, 9, -4]], np.int32)


def value(tensor: object) -> npt.NDArray[Any]:
    return ot.Program(y=tensor).interpret()["y"]


def same(tensor: ot.Tensor, expected: npt.NDArray[Any]) -> None:
    found = value(tensor)
    assert found.shape == np.shape(expected)
    np.testing.assert_allclose(found, expected, rtol=2e-6, atol=1e-6)


OPERATIONS: list[Callable[[Any, Any], Any]] = [
    lambda a, b: a + b,
    lambda a, b: 1 - a * b,
    lambda a, b: a / b,
    lambda a, b: 2 / b - a,
    lambda a, b: a // b,
    lambda a, b: a % b,
    lambda a, b: abs(a) ** b,
    lambda a, b: a**2 + b**3,
    lambda a, b: -a,
    lambda a, b: (a > b) & ~(a == 3) | (b != 2),
    lambda a, b: (a <= 1) ^ (b >= 0),
    lambda a, b: a @ b,
    lambda a, b: b @ a.T,
    lambda a, b: b @ b,
]
EXACT: list[Callable[[Any], Any]] = [lambda a: a // 3, lambda a: a % 4, lambda a: a * a - 1]


@pytest.mark.parametrize("fn", OPERATIONS)
def test_operators_mean_what_numpys_do(fn: Callable[..., Any]) -> None:
    same(fn(ot.constant(A), ot.constant(B)), fn(A, B))


@pytest.mark.parametrize("fn", EXACT)
def test_integer_operators_are_exact(fn: Callable[..., Any]) -> None:
    found = value(fn(ot.constant(N)))
    assert found.dtype == np.int32 and np.array_equal(found, np.asarray(fn(N)))


@pytest.mark.parametrize(
    ("left", "right", "result"),
    [
        ("bool", "int32", "int32"),
        ("int32", "int64", "int64"),
        ("int32", "float32", "float32"),
        ("int64", "float32", "float32"),
        ("float32", "float64", "float64"),
    ],
)
def test_types_promote(left: str, right: str, result: str) -> None:
    assert (ot.zeros((), left) * ot.zeros((), right)).dtype == result
    assert (ot.zeros((), right) * ot.zeros((), left)).dtype == result


def test_python_scalars_take_the_type_beside_them() -> None:
    assert (ot.zeros((), "float64") * 2.5).dtype == "float64"
    assert (ot.zeros((), "int32") + 1).dtype == "int32"
    assert (ot.zeros((), "int64") * 0.5).dtype == "float32"
    assert (ot.zeros((), "bool") + 1).dtype == "int32"
    assert (np.float64(2.0) * ot.zeros(())).dtype == "float32"


def test_division_and_transcendental_functions_of_integers_are_float() -> None:
    same(ot.constant(N) / 2, N / 2)
    same(ot.exp(ot.constant(N)), np.exp(N))


def test_unsigned_integers_do_not_mix() -> None:
    with pytest.raises(DtypeError, match="uint32 meets int32"):
        _ = ot.zeros((), "uint32") + ot.zeros((), "int32")


def test_an_unknown_dtype_lists_the_known_ones() -> None:
    with pytest.raises(DtypeError, match="no dtype `float8`"):
        ot.zeros((), "float8")


def test_shapes_that_do_not_broadcast_name_the_axis() -> None:
    with pytest.raises(
        ShapeError, match="axis -1 is 3 in the constant 0.0 and 2 in the constant 0.0"
    ):
        _ = ot.zeros((2, 3)) + ot.zeros(2)


def test_a_tensor_has_no_truth_value() -> None:
    with pytest.raises(TruthError, match="Use ot.where"):
        bool(ot.zeros() > 1)
    with pytest.raises(TruthError, match="ot.unstack"):
        list(ot.zeros(3))


def test_a_comparison_with_something_else_is_refused_and_not_false() -> None:
    with pytest.raises(DtypeError, match="and 'text'"):
        _ = ot.zeros() == "text"
    with pytest.raises(DtypeError, match="and None"):
        _ = ot.zeros() != None  # noqa: E711  # the mistake
