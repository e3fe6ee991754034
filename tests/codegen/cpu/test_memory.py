"""Loads and stores of every dtype on one arena, and the alias scopes."""

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from ostinato.codegen.cpu.access import access
from ostinato.codegen.cpu.flags import DRIVER
from ostinato.codegen.cpu.numba_door import njit
from ostinato.codegen.cpu.primitive import Primitive
from ostinato.pdg.node import Dtype

Array = npt.NDArray[Any]
DTYPES: tuple[Dtype, ...] = ("bool", "int32", "int64", "uint32", "float32", "float64")


def copy_kernel(source: Primitive, target: Primitive) -> Callable[..., Any]:
    @njit(**DRIVER)
    def copy(view: Array, start: int, end: int, count: int) -> None:
        for i in range(count):
            target(view, end + i, source(view, start + i))

    return copy


@pytest.mark.parametrize("dtype", DTYPES)
def test_the_byte_arena_serves_every_dtype(dtype: Dtype) -> None:
    arena = np.zeros(256, np.uint8)
    view = arena.view(dtype)
    view[:10] = np.arange(10) % 3
    copy_kernel(access(0, 1, dtype)[0], access(0, 1, dtype)[1])(arena, 0, 12, 10)
    np.testing.assert_array_equal(view[12:22], view[:10])


def test_a_loaded_bool_is_a_condition() -> None:
    load, _ = access(0, 1, "bool")

    @njit(**DRIVER)
    def count(view: Array, length: int) -> int:
        total = 0
        for i in range(length):
            if not load(view, i):
                total += 1
        return total

    assert count(np.array([1, 0, 0, 1, 0], np.uint8), 5) == 3


def test_scopes_spare_the_overlap_test_at_run_time() -> None:
    def vector_blocks(scopes: int) -> bool:
        load, store = access(0, scopes, "float32")[0], access(scopes - 1, scopes, "float32")[1]
        copy: Any = copy_kernel(load, store)
        copy(np.zeros(64, np.float32), 0, 32, 32)
        return "vector.memcheck" in next(iter(copy.inspect_llvm().values()))

    assert vector_blocks(1)
    assert not vector_blocks(2)


def test_a_scope_outside_the_program_is_an_error() -> None:
    with pytest.raises(ValueError, match="alias scope 3 is not one of 3"):
        access(3, 3, "float32")
