"""Elementary functions against float64 (or wider) NumPy, with stated bounds, and at the edges."""

import importlib
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from ostinato.codegen.cpu import scalar
from ostinato.codegen.cpu.llvm import Primitive

mpmath: Any = importlib.import_module("mpmath")  # an untyped library
Array = npt.NDArray[Any]
Apply = Callable[..., Array]
SUFFIX = {"float32": "f32", "float64": "f64"}
BOUND = {"float32": 4e-7, "float64": 2e-15}


def sigmoid(x: Array) -> Array:
    return np.asarray(1 / (1 + np.exp(-x)))


def softplus(x: Array) -> Array:
    return np.asarray(np.maximum(x, 0) + np.log1p(np.exp(-np.abs(x))))


def relu(x: Array) -> Array:
    return np.asarray(np.maximum(x, 0))


def rsqrt(x: Array) -> Array:
    return np.asarray(1 / np.sqrt(x))


def both_signs(low: float, high: float) -> Array:
    size = np.geomspace(low, high, 20_001)
    return np.concatenate([-size, [0.0], size])


CASES: dict[str, tuple[Callable[[Array], Array], Array]] = {
    "exp": (np.exp, np.linspace(-87, 88.7, 40_001)),
    "log": (np.log, np.concatenate([np.geomspace(1e-37, 3e38, 40_001), np.linspace(0.5, 2, 999)])),
    "tanh": (np.tanh, both_signs(1e-8, 30)),
    "sigmoid": (sigmoid, np.linspace(-87, 30, 40_001)),
    "softplus": (softplus, np.linspace(-80, 80, 40_001)),
    "log1p": (np.log1p, np.concatenate([both_signs(1e-8, 0.999), np.geomspace(1, 1e20, 999)])),
    "expm1": (np.expm1, both_signs(1e-8, 85)),
    "tan": (np.tan, both_signs(1e-5, 1.57)),
    "sqrt": (np.sqrt, np.geomspace(1e-37, 1e37, 999)),
    "rsqrt": (rsqrt, np.geomspace(1e-37, 1e37, 999)),
    "abs": (np.abs, both_signs(1e-3, 1e3)),
    "floor": (np.floor, np.linspace(-4, 4, 65)),
    "ceil": (np.ceil, np.linspace(-4, 4, 65)),
    "round": (np.round, np.linspace(-4, 4, 65)),
    "sign": (np.sign, np.linspace(-1, 1, 5)),
    "relu": (relu, np.linspace(-1, 1, 5)),
}


def each(fn: Callable[[float], np.longdouble]) -> Callable[[Array], Array]:
    return np.vectorize(fn, otypes=[np.longdouble])


def by_mpmath(name: str) -> Callable[[Array], Array]:
    """A function to 30 digits; the real part of the logarithm of a negative number."""

    def one(x: float) -> np.longdouble:
        with mpmath.workdps(30):
            if not np.isfinite(x):
                return np.longdouble(getattr(math, name)(float(x)))
            exact = getattr(mpmath, {"lgamma": "loggamma"}.get(name, name))(mpmath.mpf(float(x)))
            digits = mpmath.nstr(exact.real, 25) if abs(exact) > 1e-300 else "0"
            return np.longdouble(digits)

    return each(one)


SPECIAL: dict[str, tuple[Callable[[Array], Array], Array]] = {
    "exp2": (np.exp2, np.linspace(-125, 127.9, 4_001)),
    "log2": (np.log2, np.concatenate([np.geomspace(1e-37, 3e38, 4_001), np.linspace(0.5, 2, 999)])),
    "arcsinh": (np.arcsinh, both_signs(1e-8, 1e38)),
    "erf": (by_mpmath("erf"), np.linspace(-7, 7, 1_501)),
    "erfc": (by_mpmath("erfc"), np.linspace(-6, 9.1, 1_501)),
}
CASES.update(SPECIAL)
EDGES = [0.0, np.inf, -np.inf, np.nan, -1.0, 1.0, 1e38, -1e38, -104.0, 89.0]


def named(function: str, dtype: str) -> Primitive:
    found: Primitive = getattr(scalar, f"{function}_{SUFFIX[dtype]}")
    return found


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", CASES)
def test_the_relative_error_is_bounded(name: str, dtype: str, apply: Apply) -> None:
    reference, points = CASES[name]
    x = points.astype(dtype)
    wide = x.astype(np.float64 if dtype == "float32" else np.longdouble)
    expected = reference(wide)
    error = np.abs(apply(named(name, dtype), x) - expected)
    bound = BOUND[dtype] * np.abs(expected) + np.finfo(dtype).tiny
    worst = np.argmax(error / bound)
    assert error[worst] <= bound[worst], f"at {x[worst]}"


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", CASES)
def test_infinities_and_nan_give_what_numpy_gives(name: str, dtype: str, apply: Apply) -> None:
    x = np.array([value for value in EDGES if name != "tan" or abs(value) < 1e9], dtype)
    with np.errstate(all="ignore"):
        expected = CASES[name][0](x)
    np.testing.assert_allclose(apply(named(name, dtype), x), expected, rtol=1e-5, atol=1e-44)


@pytest.mark.parametrize("name", ["sin", "cos"])
def test_waves_have_a_bounded_absolute_error_up_to_1e5(name: str, apply: Apply) -> None:
    reference: Callable[[Array], Array] = getattr(np, name)
    for dtype, bound in (("float32", 2e-7), ("float64", 4e-16)):
        x = both_signs(1e-5, 1e5).astype(dtype)
        expected = reference(x.astype(np.longdouble))
        assert np.max(np.abs(apply(named(name, dtype), x) - expected)) <= bound


@pytest.mark.parametrize("name", ["sin", "cos"])
def test_waves_of_huge_arguments_stay_in_range(name: str, apply: Apply) -> None:
    found = apply(named(name, "float32"), np.array([1e12, -3e38, np.inf, np.nan], np.float32))
    assert np.all(np.abs(found[:2]) <= 1)
    assert np.all(np.isnan(found[2:]))


def test_tanh_never_leaves_the_unit_interval(apply: Apply) -> None:
    x = np.linspace(7, 9, 100_001, dtype=np.float32)
    assert np.max(apply(scalar.tanh_f32, x)) <= 1


def test_tiny_results_and_arguments_are_not_flushed_to_zero(apply: Apply) -> None:
    x = np.array([-100.0, -95.0], np.float32)
    np.testing.assert_allclose(apply(scalar.exp_f32, x), np.exp(x), rtol=0, atol=2e-45)
    tiny = np.array([1e-40, 3e-45], np.float32)
    np.testing.assert_allclose(apply(scalar.log_f32, tiny), np.log(tiny), rtol=4e-7)


GAMMA_POINTS = np.concatenate(
    [np.geomspace(1e-20, 1e30, 301), np.linspace(0.01, 13, 701), np.arange(-9.5, 0) + 0.2]
)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", ["lgamma", "digamma"])
def test_gamma_functions_are_bounded_by_the_larger_of_one_and_the_result(
    name: str, dtype: str, apply: Apply
) -> None:
    x = GAMMA_POINTS.astype(dtype)
    expected = by_mpmath(name)(x)
    error = np.abs(apply(named(name, dtype), x) - expected) / np.maximum(1, np.abs(expected))
    assert np.max(error) <= {"float32": 1e-7, "float64": 4e-15}[dtype]


@pytest.mark.parametrize("name", ["lgamma", "digamma"])
def test_gamma_functions_at_poles_and_infinities(name: str, apply: Apply) -> None:
    x = np.array([0.0, -1.0, -100.0, np.inf, -np.inf, np.nan], np.float32)
    inf, nan = np.inf, np.nan
    expected = [inf, inf, inf, inf, inf, nan] if name == "lgamma" else [nan] * 3 + [inf, nan, nan]
    np.testing.assert_array_equal(apply(named(name, "float32"), x), expected)


def test_angles_have_a_bounded_relative_error_and_numpys_edges(apply_two: Apply) -> None:
    sides = np.concatenate([both_signs(1e-30, 1e30)[::400], both_signs(0.3, 3)[::400]])
    y, x = (a.ravel() for a in np.meshgrid(sides, sides))
    for dtype in ("float32", "float64"):
        a, b = y.astype(dtype), x.astype(dtype)
        exact = np.arctan2(a.astype(np.longdouble), b.astype(np.longdouble))
        error = np.abs(apply_two(named("arctan2", dtype), a, b) - exact)
        assert np.all(error <= BOUND[dtype] * np.abs(exact) + np.finfo(dtype).tiny)
        edges = np.array([0.0, -0.0, 1, -1, np.inf, -np.inf, np.nan, 3e38, 1e-38], dtype)
        a, b = (grid.ravel() for grid in np.meshgrid(edges, edges))
        found = apply_two(named("arctan2", dtype), a, b)
        np.testing.assert_allclose(found, np.arctan2(a, b), rtol=4e-7)
