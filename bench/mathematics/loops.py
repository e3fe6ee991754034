"""A function of generated code over arrays, compiled as a kernel's loop is."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt

from ostinato.codegen.cpu.access import STORED, access
from ostinato.codegen.cpu.flags import FASTMATH
from ostinato.codegen.cpu.llvm import Builder, define, emit_range
from ostinato.codegen.cpu.llvm_text import I64, VOID, Module, Value, i64
from ostinato.codegen.cpu.primitive import Argument, Result, Written
from ostinato.pdg.node import Dtype
from ostinato.runtime.machine_code import optimise
from ostinato.runtime.machine_code.linking import Library, key_of, named
from ostinato.runtime.machine_code.ports import SYMBOL

Array = npt.NDArray[Any]
Loop = Callable[..., None]


def loop_text(function: Written) -> str:
    """The LLVM module of ``f(table, count, times)``: a table of addresses, arguments then result.

    The function is applied to so many elements of each, so many times.
    """
    kinds: list[Dtype] = [*map(_number, function.arguments), _number(function.result)]
    ways: list[Any] = [access(k, len(kinds), kind) for k, kind in enumerate(kinds)]

    def body(b: Builder, args: list[Value]) -> None:
        table, count, times = args
        words = b.inttoptr(table, I64.as_pointer())
        places = [
            b.inttoptr(b.load(b.gep(words, i64(k))), STORED[kind].as_pointer())
            for k, kind in enumerate(kinds)
        ]

        def one(i: Value) -> None:
            given = [ways[k][0].emit(b, [places[k], i]) for k in range(len(kinds) - 1)]
            ways[-1][1].emit(b, [places[-1], i, function.emit(b, given)])

        emit_range(b, i64(0), times, i64(1), lambda _: emit_range(b, i64(0), count, i64(1), one))

    module = Module(FASTMATH)
    define(module, SYMBOL, VOID, [I64] * 3, body)
    return str(module)


def _number(kind: Argument | Result) -> Dtype:
    assert kind != "array" and kind != "indices" and kind != "void", f"no loop over {kind}"
    return kind


@cache
def compiled(function: Written) -> Loop:
    """``loop(*arrays, times=1)``: the arguments' arrays, then the result's."""
    module = loop_text(function)
    key = key_of(module)
    library = Library({key: optimise.machine_code(named(module, key))})
    kind = ctypes.CFUNCTYPE(None, *[ctypes.c_int64] * 3)
    entry = kind(library.address(key))

    def loop(*arrays: Array, times: int = 1) -> None:
        assert library is not None
        table = np.array([each.ctypes.data for each in arrays], np.int64)
        entry(table.ctypes.data, arrays[0].size, times)

    return loop


def assembly(function: Written) -> str:
    """What the processor runs."""
    module = optimise.optimised(loop_text(function))
    written: str = optimise.code_generator().emit_assembly(module)
    return written


def applied(function: Written, *arrays: Array) -> Array:
    """The function of every element."""
    given = [
        np.ascontiguousarray(each, _number(kind))
        for each, kind in zip(arrays, function.arguments, strict=True)
    ]
    result = np.empty(given[0].size, _number(function.result))
    compiled(function)(*given, result)
    return result
