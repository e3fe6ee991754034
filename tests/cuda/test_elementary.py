"""Elementary functions as the CUDA target writes them give the bits of the CPU's vector code."""

from collections.abc import Callable

import numpy as np
import pytest

import ostinato as ot

pytestmark = pytest.mark.cuda_sim

ODD = (
    0.0,
    -0.0,
    1.0,
    -1.0,
    np.inf,
    -np.inf,
    np.nan,
    1e-42,
    3e38,
    -2.5,
    0.5,
    88.0,
    -104.0,
    2e5,
    7e7,
)
UNARY = (
    *("exp", "exp2", "log", "log2", "log1p", "expm1", "tanh", "sigmoid", "sin", "cos", "tan"),
    *("sqrt", "erf", "erfc", "lgamma", "digamma", "arcsinh", "floor", "ceil", "round", "sign"),
)
BINARY = ("pow", "arctan2", "minimum", "maximum", "mod", "floordiv")
INTEGER = ("minimum", "maximum", "mod", "floordiv", "pow")


def numbers(dtype: str) -> np.ndarray[tuple[int, ...], np.dtype[np.generic]]:
    if dtype == "int32":
        return np.array([0, 1, -1, 7, -7, 2**31 - 1, -(2**31), 1000, -3], dtype)
    near = np.random.default_rng(0).uniform(-9, 9, 20)
    return np.array([*ODD, *near], dtype)


def program(dtype: str) -> ot.Program:
    """Every function of all numbers, or of all pairs of them."""
    x = ot.input("x", (len(numbers(dtype)),), dtype=dtype)
    out = {} if dtype == "int32" else {fn: _unary(fn, x) for fn in UNARY}
    left, right = x.reshape(-1, 1), x.reshape(1, -1)
    for fn in INTEGER if dtype == "int32" else BINARY:
        out[f"{fn}_of_two"] = _binary(fn, left, right)
    return ot.Program(**out)


def _unary(fn: str, x: ot.Tensor) -> ot.Tensor:
    made: ot.Tensor = getattr(ot, fn)(x)
    return made


def _binary(fn: str, x: ot.Tensor, y: ot.Tensor) -> ot.Tensor:
    match fn:
        case "mod":
            return x % y
        case "floordiv":
            return x // y
        case "pow":
            return x**y
        case _:
            made: ot.Tensor = getattr(ot, fn)(x, y)
            return made


@pytest.mark.parametrize("dtype", ["float32", "float64", "int32"])
def test_functions_give_the_bits_of_the_cpu(dtype: str, simulate: Callable[..., None]) -> None:
    made, x = program(dtype), numbers(dtype)
    expected = made.compile(threads=1, exact=True)(x=x)
    simulate(threads=2)
    found = made.compile(target="cuda", threads=1, exact=True)(x=x)
    for name, value in expected.items():
        np.testing.assert_array_equal(found[name], value, err_msg=name)
