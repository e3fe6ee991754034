"""Asking for memory before it is needed."""

from ostinato.codegen.cpu.llvm import Builder, declare, emit_loop
from ostinato.codegen.cpu.llvm_text import I8, I32, I64, VOID, Value, constant, i64
from ostinato.codegen.cpu.primitive import primitive

LINE_BYTES = 64


def emit_prefetch(builder: Builder, pointer: Value) -> None:
    """Ask for the line of one address."""
    kind = I8.as_pointer()
    function = declare(builder, "llvm.prefetch.p0", VOID, [kind, I32, I32, I32])
    read, keep, data = constant(I32, 0), constant(I32, 3), constant(I32, 1)
    builder.call(function, [builder.bitcast(pointer, kind), read, keep, data])


def _emit(builder: Builder, args: list[Value]) -> None:
    memory, start, size = args
    pointer = I8.as_pointer()
    first = builder.gep(builder.bitcast(memory, pointer), start)

    def line(k: Value) -> None:
        emit_prefetch(builder, builder.gep(first, builder.mul(k, i64(LINE_BYTES))))

    lines = builder.sdiv(builder.add(size, i64(LINE_BYTES - 1)), constant(I64, LINE_BYTES))
    emit_loop(builder, lines, line)


prefetch = primitive("prefetch", "void", ("array", "int64", "int64"), _emit)
"""``prefetch(view, start, size)``: bring bytes near, while other work goes on.

The hardware sees through rows that are read one after the other, not through columns.
"""
