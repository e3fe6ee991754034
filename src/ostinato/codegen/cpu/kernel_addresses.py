"""Kernels as functions behind addresses, each compiled once."""

from ostinato.codegen.cpu.llvm import VOID, Builder, Value, function_type, primitive


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
