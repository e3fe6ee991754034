"""Runs primitives over arrays, in compiled loops as the emitter writes them."""

from collections.abc import Callable
from typing import Any, cast

import numpy as np
import numpy.typing as npt
import pytest

from ostinato.codegen.cpu.flags import DRIVER
from ostinato.codegen.cpu.llvm import Primitive
from ostinato.codegen.cpu.memory import access
from ostinato.codegen.cpu.twins import njit
from ostinato.pdg.node import Dtype

Array = npt.NDArray[Any]


def unary_loop(function: Primitive, dtype: Dtype, result: Dtype) -> Primitive:
    load, _ = access(0, 2, dtype)
    _, store = access(1, 2, result)

    @njit(**DRIVER)
    def loop(x: Array, y: Array, count: int) -> None:
        for i in range(count):
            store(y, i, function(load(x, i)))

    return loop


def binary_loop(function: Primitive, dtype: Dtype) -> Primitive:
    load, _ = access(0, 2, dtype)
    _, store = access(1, 2, dtype)

    @njit(**DRIVER)
    def loop(x: Array, y: Array, z: Array, count: int) -> None:
        for i in range(count):
            store(z, i, function(load(x, i), load(y, i)))

    return loop


def over_one(function: Primitive, x: Array, result: Dtype | None = None) -> Array:
    dtype = cast(Dtype, x.dtype.name)
    y = np.empty(x.size, result or dtype)
    unary_loop(function, dtype, result or dtype)(x, y, x.size)
    return y


def over_two(function: Primitive, x: Array, y: Array) -> Array:
    z = np.empty_like(x)
    dtype = cast(Dtype, x.dtype.name)
    binary_loop(function, dtype)(x, y, z, x.size)
    return z


@pytest.fixture
def apply() -> Callable[..., Array]:
    """Return ``apply(function, x, result_dtype)``: the function on every element."""
    return over_one


@pytest.fixture
def apply_two() -> Callable[..., Array]:
    """Return ``apply_two(function, x, y)``: the function on every pair."""
    return over_two


@pytest.fixture
def loop_of() -> Callable[..., Primitive]:
    """Return ``loop_of(function, dtype, result_dtype)``: the compiled loop itself."""
    return unary_loop
