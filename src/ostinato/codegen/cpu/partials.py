"""Numbers of a fold that are kept apart while the loops that fold them run."""

from ostinato.codegen.cpu.access import element
from ostinato.codegen.cpu.flags import lanes
from ostinato.codegen.cpu.llvm import Builder
from ostinato.codegen.cpu.llvm_text import I1, I8, I32, Value, constant, i64, undefined, vector_type
from ostinato.codegen.cpu.primitive import Primitive, Written
from ostinato.codegen.cpu.step_expression import CODE
from ostinato.codegen.cpu.vector import Vector
from ostinato.codegen.loops.expression import ITEM_BYTES, Float
from ostinato.pdg.node import Dtype

WORD_BYTES = 8


def partials(dtype: Dtype, count: int) -> tuple[Primitive, Primitive, Primitive]:
    """Return ``take()``, ``load(view, lane)`` and ``store(view, lane, value)`` of so many numbers.

    What is taken is a local array, which LLVM keeps in registers where loops over it have a fixed
    number of turns.

    >>> take, load, store = partials("float32", 64)
    >>> take.room
    32
    """

    def take(builder: Builder, args: list[Value]) -> Value:
        return builder.bitcast(args[0], I8.as_pointer())

    def load(builder: Builder, args: list[Value]) -> Value:
        pointer, lane = args
        loaded = builder.load(element(builder, pointer, lane, dtype))
        loaded.align = ITEM_BYTES[dtype]
        return builder.trunc(loaded, I1) if dtype == "bool" else loaded

    def store(builder: Builder, args: list[Value]) -> None:
        pointer, lane, value = args
        kept = builder.zext(value, I8) if dtype == "bool" else value
        builder.store(kept, element(builder, pointer, lane, dtype)).align = ITEM_BYTES[dtype]

    words = -(-count * ITEM_BYTES[dtype] // WORD_BYTES)
    return (
        Written(f"take_{dtype}_{count}", "array", (), take, words),
        Written(f"load_{dtype}_{count}", dtype, ("array", "int64"), load),
        Written(f"store_{dtype}_{count}", "void", ("array", "int64", dtype), store),
    )


def halves(dtype: Float, count: int, fn: str) -> Primitive:
    """Return ``fold(view)`` of so many numbers, a power of two, by a function of two of them.

    The second half is folded into the first one until one number is left: whole vectors, then
    halves of a vector, for which LLVM alone would take number by number.
    """

    def fold(b: Builder, args: list[Value]) -> Value:
        width = min(count, lanes(dtype))
        v, code = Vector(b, dtype, width), CODE[fn]
        found = [v.load(element(b, args[0], i64(k), dtype)) for k in range(0, count, width)]
        while len(found) > 1:
            half = len(found) // 2
            pairs = zip(found[:half], found[half:], strict=True)
            found = [code(v, one, other) for one, other in pairs]
        (left,) = found
        while width > 2:
            width //= 2
            low, high = (_lanes_from(b, left, first, width) for first in (0, width))
            left = code(Vector(b, dtype, width), low, high)
        low, high = (b.extract_element(left, constant(I32, k)) for k in range(2))
        return code(Vector(b, dtype), low, high)

    return Written(f"halves_{dtype}_{count}_{fn}", dtype, ("array",), fold)


def _lanes_from(b: Builder, vector: Value, first: int, count: int) -> Value:
    """Some lanes of a vector, as a vector."""
    places = constant(vector_type(I32, count), list(range(first, first + count)))
    return b.shuffle_vector(vector, undefined(vector.type), places)
