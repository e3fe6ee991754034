"""Numbers of a fold that are kept apart while the loops that fold them run."""

from ostinato.codegen.cpu.access import element
from ostinato.codegen.cpu.llvm import Builder
from ostinato.codegen.cpu.llvm_text import I1, I8, Value
from ostinato.codegen.cpu.primitive import Primitive, primitive
from ostinato.codegen.loops.expression import ITEM_BYTES
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
        primitive(f"take_{dtype}_{count}", "array", (), take, words),
        primitive(f"load_{dtype}_{count}", dtype, ("array", "int64"), load),
        primitive(f"store_{dtype}_{count}", "void", ("array", "int64", dtype), store),
    )
