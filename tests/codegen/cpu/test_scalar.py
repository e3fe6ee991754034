"""Two-operand functions, integer arithmetic, casts and `where` against NumPy."""

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from bench.mathematics.loops import loop_text
from ostinato.codegen.cpu.access import access
from ostinato.codegen.cpu.flags import DRIVER
from ostinato.codegen.cpu.numba_door import njit
from ostinato.codegen.cpu.primitive import Primitive, Written, where
from ostinato.codegen.cpu.scalar import PRIMITIVES
from ostinato.runtime.machine_code.optimise import optimised

Array = npt.NDArray[Any]
Apply = Callable[..., Array]

SUFFIX = {"float32": "f32", "float64": "f64", "int32": "i32", "int64": "i64", "uint32": "u32"}
FLOATS = [0.0, 1.0, -1.0, 2.5, -2.5, 1e-3, 7.0, 1e10, np.inf, -np.inf, np.nan, 0.1, 3.0, -0.5]
INTS = [0, 1, -1, 2, -3, 7, -(2**31), 2**31 - 1, 100, -100]


def pairs(dtype: str) -> tuple[Array, Array]:
    kind = np.dtype(dtype).kind
    values = np.array(FLOATS if kind == "f" else INTS).astype(dtype)
    x, y = np.meshgrid(values, values)
    return x.ravel(), y.ravel()


def named(function: str, dtype: str) -> Primitive:
    return PRIMITIVES[f"{function}_{SUFFIX[dtype]}"]


@pytest.mark.parametrize("dtype", SUFFIX)
@pytest.mark.parametrize("name", ["minimum", "maximum", "floordiv", "mod"])
def test_two_operands_give_what_numpy_gives(name: str, dtype: str, apply: Apply) -> None:
    x, y = pairs(dtype)
    reference = {"floordiv": np.floor_divide, "mod": np.mod}.get(name) or getattr(np, name)
    with np.errstate(all="ignore"):
        expected = reference(x, y)
    np.testing.assert_array_equal(apply(named(name, dtype), x, y), expected)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_the_log_of_a_sum_of_exponentials_gives_what_numpy_gives(dtype: str, apply: Apply) -> None:
    x, y = pairs(dtype)
    with np.errstate(all="ignore"):
        expected = np.logaddexp(x, y)
    found = apply(named("logaddexp", dtype), x, y)
    np.testing.assert_allclose(found, expected, rtol=3e-7 if dtype == "float32" else 1e-15)


BITWISE = {
    "bitand": np.bitwise_and,
    "bitor": np.bitwise_or,
    "bitxor": np.bitwise_xor,
    "shl": np.left_shift,
    "shr": np.right_shift,
}


@pytest.mark.parametrize("dtype", ["int32", "int64", "uint32"])
@pytest.mark.parametrize("name", BITWISE)
def test_bits_and_shifts_give_what_numpy_gives(name: str, dtype: str, apply: Apply) -> None:
    values = np.array([*INTS, 31, 32, 63, 64]).astype(dtype)
    x, y = (a.ravel() for a in np.meshgrid(values, values))
    found = apply(named(name, dtype), x, y)
    np.testing.assert_array_equal(found, BITWISE[name](x, y))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_power_gives_what_numpy_gives(dtype: str, apply: Apply) -> None:
    x, y = pairs(dtype)
    with np.errstate(all="ignore"):
        expected = np.power(x.astype(np.float64), y.astype(np.float64)).astype(dtype)
    found = apply(named("pow", dtype), x, y)
    np.testing.assert_allclose(found, expected, rtol=2e-7 if dtype == "float32" else 1e-15)


@pytest.mark.parametrize("dtype", ["int32", "int64", "uint32"])
def test_integer_power_wraps(dtype: str, apply: Apply) -> None:
    x = np.array([0, 3, 7, 2, 100000, 5], dtype)
    n = np.array([0, 4, 1, 40, 3, 0], dtype)
    np.testing.assert_array_equal(apply(named("pow", dtype), x, n), np.power(x, n))


@pytest.mark.parametrize("dtype", ["int32", "int64"])
@pytest.mark.parametrize("name", ["abs", "sign"])
def test_integer_abs_and_sign_give_what_numpy_gives(name: str, dtype: str, apply: Apply) -> None:
    x = np.array(INTS, dtype)
    reference: Callable[[Array], Array] = getattr(np, name)
    np.testing.assert_array_equal(apply(named(name, dtype), x), reference(x))


@pytest.mark.parametrize("source", ["float32", "float64"])
@pytest.mark.parametrize("target", ["int32", "int64", "uint32"])
def test_a_cast_truncates_saturates_and_maps_nan_to_zero(
    target: str, source: str, apply: Apply
) -> None:
    function: Primitive = PRIMITIVES[f"cast_{SUFFIX[target]}_{SUFFIX[source]}"]
    low, high = np.iinfo(target).min, np.iinfo(target).max
    x = np.array([2.9, -2.9, 0.0, np.nan, 1e30, -np.inf], source)
    expected = [2, max(-2, low), 0, 0, high, low]
    assert apply(function, x).tolist() == expected
    ends = np.array([low, high, float(high) + 1, float(low) - 1], source)
    near = np.concatenate([np.nextafter(ends, ends.dtype.type(side)) for side in (-np.inf, np.inf)])
    around = np.concatenate([ends, near])
    exact = [min(max(int(v), low), high) for v in around.tolist()]
    assert apply(function, around).tolist() == exact


def test_where_casts_both_sides_to_their_common_type() -> None:
    @njit(**DRIVER)
    def pick(condition: bool, x: float, y: float) -> object:
        return where(condition, x, y)

    assert pick(True, np.float32(1), np.float64(0.1)) == 1.0
    assert pick(False, np.float32(1), np.float64(0.1)) == 0.1


@pytest.mark.parametrize("name", ["tanh_f32", "exp_f32", "log_f32", "sin_f32", "mod_f64"])
def test_a_loop_over_consecutive_elements_becomes_vector_code(name: str) -> None:
    element = "float" if name.endswith("f32") else "double"
    primitive = PRIMITIVES[name]
    assert isinstance(primitive, Written), f"{name} is not written as instructions"
    text = str(optimised(loop_text(primitive)))
    assert re.search(rf"= f(?:div|mul) [a-z ]*<\d+ x {element}>", text)


def test_numba_computes_rare_arguments_to_the_same_bits(apply: Apply) -> None:
    load, store = access(0, 2, "float64")
    sin = PRIMITIVES["sin_f64"]

    @njit(**DRIVER)
    def loop(x: Array, y: Array) -> None:
        for i in range(x.size):
            store(y, i, sin(load(x, i)))

    x = np.geomspace(0.1, 1e300, 100)
    y = np.empty_like(x)
    loop(x, y)
    np.testing.assert_array_equal(y, apply(sin, x))
