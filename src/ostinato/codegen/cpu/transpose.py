"""Transposing a square of numbers on its way through registers."""

from ostinato.codegen.cpu.llvm import Builder
from ostinato.codegen.cpu.llvm_text import I32, Value, constant, i64, vector_type
from ostinato.codegen.cpu.primitive import Primitive, primitive
from ostinato.codegen.cpu.vector import Float, Vector
from ostinato.codegen.loops.shared_words import SQUARE


def _transpose(name: str, dtype: Float) -> Primitive:
    def emit(builder: Builder, args: list[Value]) -> None:
        memory, to, to_step, source, source_step = args
        v = Vector(builder, dtype, SQUARE)
        numbers = builder.bitcast(memory, v.format.element.as_pointer())

        def row(first: Value, step: Value, k: int) -> Value:
            return builder.gep(numbers, builder.add(first, builder.mul(step, i64(k))))

        rows = [v.load(row(source, source_step, k)) for k in range(SQUARE)]
        for k, value in enumerate(_transposed(builder, rows)):
            v.store(value, row(to, to_step, k))

    return primitive(name, "void", ("array", "int64", "int64", "int64", "int64"), emit)


def _transposed(builder: Builder, rows: list[Value]) -> list[Value]:
    """Exchange ever larger squares beside the diagonal, between two rows at a time."""
    size = 1
    while size < SQUARE:
        upper = [lane if not lane & size else lane - size + SQUARE for lane in range(SQUARE)]
        lower = [lane + size if not lane & size else lane + SQUARE for lane in range(SQUARE)]
        for k in (k for k in range(SQUARE) if not k & size):
            pair = rows[k], rows[k + size]
            rows[k], rows[k + size] = (_picked(builder, *pair, mask) for mask in (upper, lower))
        size *= 2
    return rows


def _picked(builder: Builder, left: Value, right: Value, lanes: list[int]) -> Value:
    mask = constant(vector_type(I32, SQUARE), lanes)
    return builder.shuffle_vector(left, right, mask)


transpose_f32 = _transpose("transpose_f32", "float32")
"""``transpose_f32(view, to, to_step, source, source_step)``: transpose a square of `SQUARE` rows.

``to`` and ``source`` are offsets in elements, the steps those from one row to the next.
"""
transpose_f64 = _transpose("transpose_f64", "float64")
