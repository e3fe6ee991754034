"""Elementary functions: ranges, poles, and values that the search for errors leaves out."""

import importlib
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from ostinato.codegen.cpu.primitive import Primitive
from ostinato.codegen.cpu.scalar import PRIMITIVES

mpmath: Any = importlib.import_module("mpmath")  # an untyped library
Array = npt.NDArray[Any]
Apply = Callable[..., Array]
SUFFIX = {"float32": "f32", "float64": "f64"}


def to_30_digits(name: str) -> Callable[[Array], Array]:
    """A gamma function; the real part of the logarithm of a negative number."""

    def one(x: float) -> np.longdouble:
        with mpmath.workdps(30):
            exact = getattr(mpmath, {"lgamma": "loggamma"}.get(name, name))(mpmath.mpf(float(x)))
            return np.longdouble(mpmath.nstr(exact.real, 25))

    return np.vectorize(one, otypes=[np.longdouble])


def named(function: str, dtype: str) -> Primitive:
    return PRIMITIVES[f"{function}_{SUFFIX[dtype]}"]


def test_tanh_never_leaves_the_unit_interval(apply: Apply) -> None:
    x = np.linspace(7, 9, 100_001, dtype=np.float32)
    assert np.max(apply(PRIMITIVES["tanh_f32"], x)) <= 1


GAMMA_POINTS = np.concatenate(
    [np.geomspace(1e-20, 1e30, 301), np.linspace(0.01, 13, 701), np.arange(-9.5, 0) + 0.2]
)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", ["lgamma", "digamma"])
def test_gamma_functions_are_bounded_by_the_larger_of_one_and_the_result(
    name: str, dtype: str, apply: Apply
) -> None:
    x = GAMMA_POINTS.astype(dtype)
    expected = to_30_digits(name)(x)
    error = np.abs(apply(named(name, dtype), x) - expected) / np.maximum(1, np.abs(expected))
    assert np.max(error) <= {"float32": 1e-7, "float64": 4e-15}[dtype]


@pytest.mark.parametrize("name", ["lgamma", "digamma"])
def test_gamma_functions_at_poles_and_infinities(name: str, apply: Apply) -> None:
    x = np.array([0.0, -1.0, -100.0, np.inf, -np.inf, np.nan], np.float32)
    inf, nan = np.inf, np.nan
    expected = [inf, inf, inf, inf, inf, nan] if name == "lgamma" else [nan] * 3 + [inf, nan, nan]
    np.testing.assert_array_equal(apply(named(name, "float32"), x), expected)
