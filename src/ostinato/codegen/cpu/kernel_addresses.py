"""Kernels as functions behind addresses, each compiled once."""

from ostinato.codegen.cpu.llvm import Builder
from ostinato.codegen.cpu.llvm_text import VOID, Value, function_type
from ostinato.codegen.cpu.primitive import primitive


def _call_python(builder: Builder, args: list[Value]) -> None:
    address, number = args
    builder.call(builder.inttoptr(address, function_type(VOID)), [number])


call_python = primitive("call_python", "void", ("int64", "int64"), _call_python)
"""``call_python(address, number)``: let Python run the call of that number."""


def _invoke(builder: Builder, args: list[Value]) -> None:
    address, *rest = args
    builder.call(builder.inttoptr(address, function_type(VOID)), rest)


invoke = primitive("invoke", "void", ("int64", "array", "array", "indices"), _invoke)
"""``invoke(address, memory, table, integers)``: call a kernel."""
