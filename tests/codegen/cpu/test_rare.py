"""Rare arguments inside vectors of any number of lanes, as epilogues of products have them."""

import ctypes
import importlib
from typing import cast

import numpy as np
import pytest

from ostinato.codegen.cpu import llvm_text, periodic
from ostinato.codegen.cpu.llvm import F32, I64, VOID, Builder, Value, function_type
from ostinato.codegen.cpu.native.llvm_modules import SYMBOL
from ostinato.codegen.cpu.vector import Vector
from ostinato.runtime.build.linking import Library, key_of, named
from ostinato.runtime.build.optimise import machine_code


def sine_of(lanes: int) -> str:
    """The LLVM module of ``f(x, y)``: the sine of so many numbers."""
    module = llvm_text.Module(importlib.import_module("llvmlite.binding").get_process_triple())
    made = llvm_text.Function(module, function_type(VOID, [I64] * 2), SYMBOL)
    b = cast(Builder, llvm_text.Builder(made.append_basic_block()))
    v = Vector(b, "float32", lanes)
    x, y = (b.inttoptr(cast(Value, a), F32.as_pointer()) for a in made.args)
    v.store(periodic.sin(v, v.load(x)), y)
    b.ret_void()
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
