"""Kernels as libraries of their own, called through their addresses.

A kernel that Numba inlines into its driver is optimised twice. Behind an address it is compiled
once, and by any process: the files of Numba's cache are all that processes share.
"""

import importlib
import os
from collections.abc import Callable
from typing import Protocol

from ostinato.codegen.cpu.flags import KERNEL
from ostinato.codegen.cpu.llvm import VOID, Builder, Primitive, Value, function_type, primitive

ONLY = "OSTINATO_COMPILE_ONLY"
"""Environment variable: names of the kernels that this process compiles, separated by commas."""

_numba = importlib.import_module("numba")
_WRAPPERS = ("no_cfunc_wrapper", "no_cpython_wrapper", "nogil")
_OPTIONS = {name: value for name, value in KERNEL.items() if name not in _WRAPPERS}

carray: Primitive = _numba.carray
"""``carray(pointer, length)``: an array over memory that a kernel was given."""


class Linked(Protocol):
    """A compiled function without Python's calling convention."""

    @property
    def address(self) -> int: ...


class Absent:
    """Stands for a kernel that another process compiles."""

    address = 0


def kernel(integers: int, exact: bool = False) -> Callable[[Callable[..., None]], Linked]:
    """Compile ``f(memory, table, *integers)``: two addresses, then as many int64 numbers.

    ``memory`` points to bytes and ``table`` to int64 numbers. An ``exact`` kernel has no freedom
    of floats.
    """
    options = {**_OPTIONS, "fastmath": False} if exact else _OPTIONS
    signature = f"void(CPointer(uint8), CPointer(int64){', int64' * integers})"

    def compile_kernel(function: Callable[..., None]) -> Linked:
        if not is_wanted(function.__name__):
            return Absent()
        made: Linked = _numba.cfunc(signature, cache=True, **options)(function)
        return made

    return compile_kernel


def driver(*arguments: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Compile a function that Python calls, for arguments of the given Numba types."""

    def compile_driver(function: Callable[..., None]) -> Callable[..., None]:
        if not is_wanted(function.__name__):
            return function
        options = {name: value for name, value in KERNEL.items() if name not in _WRAPPERS}
        signature = f"void({', '.join(arguments)})"
        made: Callable[..., None] = _numba.njit(signature, cache=True, nogil=True, **options)(
            function
        )
        return made

    return compile_driver


def is_wanted(name: str) -> bool:
    """Whether this process is to compile the function of that name."""
    only = os.environ.get(ONLY)
    return only is None or name in only.split(",")


def _call_python(builder: Builder, args: list[Value]) -> None:
    address, number = args
    kind = function_type(VOID, [number.type])
    builder.call(builder.inttoptr(address, kind.as_pointer()), [number])


call_python = primitive("call_python", "void", ("int64", "int64"), _call_python)
"""``call_python(address, number)``: let Python run the call of that number."""


def _invoke(builder: Builder, args: list[Value]) -> None:
    address, *rest = args
    kind = function_type(VOID, [value.type for value in rest])
    builder.call(builder.inttoptr(address, kind.as_pointer()), rest)


invoke = primitive("invoke", "void", ("int64", "array", "array", "indices"), _invoke)
"""``invoke(address, memory, table, integers)``: call a kernel."""
