"""Integers: bits, shifts, divisions and powers mean what NumPy's do, bit for bit."""

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import ostinato as ot

INTS = [0, 1, -1, 2, -3, 7, 31, 32, 64, -(2**31), 2**31 - 1, 100]
OPERATIONS: dict[str, Callable[[Any, Any], Any]] = {
    "and": lambda x, y: x & y,
    "or": lambda x, y: x | y,
    "xor": lambda x, y: x ^ y,
    "not": lambda x, y: ~x + 0 * y,
    "left": lambda x, y: x << y,
    "right": lambda x, y: x >> y,
    "floordiv": lambda x, y: x // y,
    "mod": lambda x, y: x % y,
    "add": lambda x, y: x + y,
    "mul": lambda x, y: x * y,
}


def value(tensor: object) -> npt.NDArray[Any]:
    return ot.Program(y=tensor).interpret()["y"]


@pytest.mark.parametrize("dtype", ["int32", "int64", "uint32"])
@pytest.mark.parametrize("name", OPERATIONS)
def test_an_integer_operator_means_what_numpys_does(name: str, dtype: str) -> None:
    numbers = np.array(INTS).astype(dtype)
    x, y = (a.ravel() for a in np.meshgrid(numbers, numbers))
    with np.errstate(all="ignore"):
        expected = OPERATIONS[name](x, y)
    found = value(OPERATIONS[name](ot.constant(x), ot.constant(y)))
    assert found.dtype == dtype and np.array_equal(found, expected)


def test_booleans_keep_their_logic() -> None:
    a, b = ot.constant([True, True, False]), ot.constant([True, False, False])
    assert (a & b).dtype == (a ^ b).dtype == (~a).dtype == "bool"
    assert value(a & b).tolist() == [True, False, False]
    assert value(a ^ b).tolist() == [False, True, False]
    assert value(~a | b).tolist() == [True, False, True]


def test_numbers_stand_on_either_side() -> None:
    n = ot.constant([1, 6])
    assert value(1 << n).tolist() == [2, 64]
    assert value(0xFF >> n).tolist() == [127, 3]
    assert value(5 & n).tolist() == [1, 4]
    assert value(n ^ True).tolist() == [0, 7]


def test_logic_on_numbers_asks_whether_they_are_zero() -> None:
    x = ot.constant([0.0, 0.5, -1.0])
    assert value(ot.logical_and(x, 1)).tolist() == [False, True, True]
    assert value(ot.logical_or(x, 0)).tolist() == [False, True, True]
    assert value(ot.logical_not(x)).tolist() == [True, False, False]


@pytest.mark.parametrize("dtype", ["int32", "int64"])
def test_a_negative_power_of_integers_is_cut_towards_zero(dtype: str) -> None:
    x = ot.input("x", (6,), dtype)
    n = ot.input("n", (6,), dtype)
    base, power = [1, -1, -1, 2, 0, 3], [-3, -3, -2, -1, -1, 2]
    found = ot.Program(y=x**n).interpret(x=np.array(base), n=np.array(power))["y"]
    assert found.tolist() == [1, -1, 1, 0, 0, 9]


def test_powers_wrap() -> None:
    found = value(ot.constant([3, -7, 2]) ** ot.constant([40, 15, 31]))
    expected = np.power(np.array([3, -7, 2], np.int32), np.array([40, 15, 31], np.int32))
    assert np.array_equal(found, expected)
