"""Elementary and special functions mean what NumPy's and the mathematics library's do."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import ostinato as ot

X = np.array([-2.5, -0.9, -0.25, 0.0, 0.3, 0.75, 1.0, 4.0, 30.0], np.float32)
EDGES = np.array([np.inf, -np.inf, np.nan, 0.0, 1e20, -1e20], np.float32)


def value(tensor: object) -> npt.NDArray[Any]:
    return ot.Program(y=tensor).interpret()["y"]


def same(tensor: ot.Tensor, expected: Any) -> None:
    found = value(tensor)
    assert found.shape == np.shape(expected)
    np.testing.assert_allclose(found, expected, rtol=2e-6, atol=1e-6)


def each(fn: Callable[[float], float]) -> Callable[[Any], Any]:
    return np.vectorize(fn, otypes=[np.float64])


UNARY = (
    "exp2 log2 log10 reciprocal sinh cosh arctan arcsin arccos arcsinh arccosh arctanh trunc "
    "isnan isinf"
)


@pytest.mark.parametrize("name", UNARY.split())
@pytest.mark.parametrize("points", [X, EDGES], ids=["points", "edges"])
def test_a_unary_function_means_what_numpys_does(name: str, points: Any) -> None:
    with np.errstate(all="ignore"):
        expected = getattr(np, name)(points)
    same(getattr(ot, name)(ot.constant(points)), expected)


@pytest.mark.parametrize("name", ["arctan2", "logaddexp", "hypot", "fmod"])
def test_a_function_of_two_means_what_numpys_does(name: str) -> None:
    points = np.concatenate([X, np.array([np.inf, -np.inf, 1e20], np.float32)])
    x, y = (a.ravel() for a in np.meshgrid(points, points))
    with np.errstate(all="ignore"):
        expected = getattr(np, name)(x, y)
    same(getattr(ot, name)(ot.constant(x), ot.constant(y)), expected)


@pytest.mark.parametrize("name", ["erf", "erfc", "lgamma"])
def test_functions_that_numpy_lacks(name: str) -> None:
    points = X[X != 0]
    same(getattr(ot, name)(ot.constant(points)), each(getattr(math, name))(points))


def test_digamma_is_the_slope_of_lgamma_and_obeys_its_recurrence() -> None:
    x = ot.constant([0.5, 1.0, 3.7, -1.3], "float64")
    same(ot.grad(ot.lgamma(x).sum(), x), value(ot.digamma(x)))
    same(ot.digamma(x + 1) - ot.digamma(x), 1 / value(x))
    same(ot.digamma(ot.constant(1.0)), -0.5772156649)


def test_poles_of_the_gamma_function() -> None:
    x = ot.constant([0.0, -1.0, -2.0, np.inf])
    same(ot.lgamma(x), [np.inf] * 4)
    same(ot.digamma(x), [np.nan, np.nan, np.nan, np.inf])


def test_integers_are_taken_to_float32() -> None:
    n = ot.constant([1, 2, 3])
    assert ot.erf(n).dtype == ot.arcsinh(n).dtype == ot.sinh(n).dtype == "float32"
    assert ot.trunc(n).dtype == "int32"


def test_remainders_towards_zero_are_exact() -> None:
    x, y = np.array([7, -7, 5, 9, -3], np.int32), np.array([3, 3, -(2**31), 0, 2], np.int32)
    with np.errstate(all="ignore"):
        same(ot.fmod(ot.constant(x), ot.constant(y)), np.fmod(x, y))
    small = value(ot.fmod(ot.constant(-1e-20), 1.0))
    assert small == np.float32(-1e-20)


def test_nan_and_infinities_become_numbers() -> None:
    same(ot.nan_to_num(ot.constant(EDGES)) / 1e38, np.nan_to_num(EDGES) / 1e38)
    same(ot.nan_to_num(ot.constant(EDGES), 7.0, 8.0, 9.0), np.nan_to_num(EDGES, True, 7, 8, 9))


def test_activations() -> None:
    x = ot.constant(X)
    same(ot.elu(x, 0.5), np.where(X > 0, X, 0.5 * np.expm1(np.minimum(X, 0))))
    same(ot.leaky_relu(x, 0.1), np.where(X > 0, X, 0.1 * X))
    same(ot.hard_tanh(x), np.clip(X, -1, 1))
    same(ot.mish(x), X * np.tanh(np.logaddexp(X, 0)))
    same(ot.softsign(x), X / (1 + np.abs(X)))
    same(ot.gelu(x, approximate=False), 0.5 * X * (1 + each(math.erf)(X / math.sqrt(2))))


SMOOTH = (
    "exp2 log2 arctan arcsinh erf erfc lgamma digamma sinh cosh arcsin arctanh softplus".split()
)


@pytest.mark.parametrize("name", SMOOTH)
def test_first_and_second_derivatives_equal_differences(name: str) -> None:
    fn: Callable[[Any], ot.Tensor] = getattr(ot, name)
    x = ot.input("x", (3,), "float64")
    slope = ot.grad(fn(x).sum(), x)
    program = ot.Program(y=fn(x), slope=slope, bend=ot.grad(slope.sum(), x))
    at, step = np.array([0.2, 0.45, 0.8]), 1e-5
    low, here, high = (program.interpret(x=at + k * step) for k in (-1, 0, 1))
    np.testing.assert_allclose(here["slope"], (high["y"] - low["y"]) / (2 * step), rtol=1e-6)
    np.testing.assert_allclose(here["bend"], (high["slope"] - low["slope"]) / (2 * step), rtol=1e-6)


def test_second_derivatives_hold_where_branches_meet() -> None:
    x = ot.input("x", (1,))
    for y in (ot.softplus(x), ot.logaddexp(x, 0.0)):
        slope = ot.grad(y.sum(), x)
        program = ot.Program(slope=slope, bend=ot.grad(slope.sum(), x))
        found = program.interpret(x=[0.0])
        assert found["slope"].tolist() == [0.5] and found["bend"].tolist() == [0.25]


def test_the_distance_from_the_origin_has_a_finite_gradient() -> None:
    x, y = ot.constant([3.0, 0.0, 1e30]), ot.constant([4.0, 0.0, 0.0])
    same(ot.grad(ot.hypot(x, y).sum(), x), [0.6, 0.0, 1.0])


def test_gradients_of_paths_that_are_all_impossible() -> None:
    """As JAX and PyTorch have them for logsumexp; there logaddexp is NaN too."""
    x = ot.input("x", (2,))
    both = ot.logsumexp(x), ot.logaddexp(x[..., 0], x[..., 1])
    program = ot.Program(one=ot.grad(both[0], x), other=ot.grad(both[1], x))
    nowhere, one_way = [-math.inf, -math.inf], [-math.inf, 0.5]
    for run in (program.interpret, program.compile()):
        assert np.isnan(run(x=nowhere)["one"]).all()
        assert run(x=nowhere)["other"].tolist() == [1.0, 0.0]
        assert run(x=one_way)["one"].tolist() == run(x=one_way)["other"].tolist() == [0.0, 1.0]
