"""Rare arguments inside vectors of any number of lanes, as epilogues of products have them."""

import ctypes

import numpy as np
import pytest

from ostinato.codegen.cpu import trigonometric
from ostinato.codegen.cpu.llvm import Builder, define
from ostinato.codegen.cpu.llvm_text import F32, I64, VOID, Module, Value
from ostinato.codegen.cpu.vector import Vector
from ostinato.runtime.machine_code.linking import Library, key_of, named
from ostinato.runtime.machine_code.optimise import machine_code
from ostinato.runtime.machine_code.ports import SYMBOL


def sine_of(lanes: int) -> str:
    """The LLVM module of ``f(x, y)``: the sine of so many numbers."""

    def body(b: Builder, args: list[Value]) -> None:
        v = Vector(b, "float32", lanes)
        x, y = (b.inttoptr(each, F32.as_pointer()) for each in args)
        v.store(trigonometric.sin(v, v.load(x)), y)

    module = Module()
    define(module, SYMBOL, VOID, [I64, I64], body)
    return str(module)


@pytest.mark.parametrize("lanes", [2, 4, 8, 16])
def test_some_lanes_are_rare(lanes: int) -> None:
    module = sine_of(lanes)
    key = key_of(module)
    library = Library({key: machine_code(named(module, key))})
    x = np.linspace(1, 1e8, lanes, dtype=np.float32)
    y = np.zeros_like(x)
    ctypes.CFUNCTYPE(None, *[ctypes.c_int64] * 2)(library.address(key))(
        x.ctypes.data, y.ctypes.data
    )
    np.testing.assert_allclose(y, np.sin(x.astype(np.float64)), rtol=2e-7)
