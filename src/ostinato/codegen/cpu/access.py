"""What is done with addresses: loads and stores on the arena, prefetches, and calls of kernels.

Loads and stores are typed and have an alias scope per tensor: LLVM cannot know that two tensors of
one arena never overlap, and would test it at run time before every vector loop, or give up.
"""

from weakref import WeakKeyDictionary

from ostinato.codegen.cpu.flags import LINE_BYTES, lanes
from ostinato.codegen.cpu.llvm import Builder, declare
from ostinato.codegen.cpu.llvm_text import (
    I1,
    I8,
    I32,
    I64,
    KINDS,
    VOID,
    Instruction,
    Module,
    Value,
    constant,
    function_type,
    i64,
    undefined,
    vector_type,
)
from ostinato.codegen.cpu.primitive import Primitive, Written, in_llvm
from ostinato.codegen.cpu.step_expression import CODE
from ostinato.codegen.cpu.vector import Float, Vector
from ostinato.codegen.loops.expression import ITEM_BYTES
from ostinato.codegen.loops.shared_words import SQUARE
from ostinato.pdg.node import Dtype

STORED = {dtype: I8 if dtype == "bool" else KINDS[dtype] for dtype in ITEM_BYTES}
"""The type of an element in memory."""


def access(scope: int, scopes: int, dtype: Dtype) -> tuple[Primitive, Primitive]:
    """Return ``load(view, offset)`` and ``store(view, offset, value)`` of one tensor.

    The view is any contiguous 1-D array whose memory starts where the arena starts: only its
    address is used. The offset is an int64 that counts elements of ``dtype``. A bool takes one
    byte. Tensors whose numbers ``scope`` differ, of the ``scopes`` in the function, are promised
    never to share memory; one that reuses another's memory has that one's number.
    Errors: ValueError if ``scope`` is not one of the scopes.

    >>> load_x, store_x = access(0, 2, "float32")
    """
    if not 0 <= scope < scopes:
        raise ValueError(f"alias scope {scope} is not one of {scopes}")

    def load(builder: Builder, args: list[Value]) -> Value:
        pointer, offset = args
        loaded = builder.load(element(builder, pointer, offset, dtype))
        _tag(builder, loaded, dtype, (scope, scopes))
        return builder.trunc(loaded, I1) if dtype == "bool" else loaded

    def store(builder: Builder, args: list[Value]) -> None:
        pointer, offset, value = args
        kept = builder.zext(value, I8) if dtype == "bool" else value
        stored = builder.store(kept, element(builder, pointer, offset, dtype))
        _tag(builder, stored, dtype, (scope, scopes))

    return (
        Written(f"load_{dtype}_{scope}", dtype, ("array", "int64"), load),
        Written(f"store_{dtype}_{scope}", "void", ("array", "int64", dtype), store),
    )


def element(builder: Builder, pointer: Value, offset: Value, dtype: Dtype) -> Value:
    """The address of an element, counted from the start of memory."""
    typed = builder.bitcast(pointer, STORED[dtype].as_pointer())
    return builder.gep(typed, offset)


def _tag(builder: Builder, instruction: Instruction, dtype: Dtype, scope: tuple[int, int]) -> None:
    _, count = scope
    instruction.align = ITEM_BYTES[dtype]
    if count == 1:
        return  # an empty list of scopes is an error of LLVM's verifier
    alias, others = _scopes(builder.module, *scope)
    instruction.set_metadata("alias.scope", alias)
    instruction.set_metadata("noalias", others)


Nodes = dict[tuple[int, int], tuple[str, str]]
_known: WeakKeyDictionary[Module, Nodes] = WeakKeyDictionary()
_each: WeakKeyDictionary[Module, dict[int, list[str]]] = WeakKeyDictionary()
DOMAIN = "arena"


def _scopes(module: Module, number: int, count: int) -> tuple[str, str]:
    """The lists of a tensor's own scope and of all others, in a module."""
    known = _known.setdefault(module, {})
    if (number, count) not in known:
        nodes = _nodes(module, count)
        others = [node for each, node in enumerate(nodes) if each != number]
        known[number, count] = module.add_metadata([nodes[number]]), module.add_metadata(others)
    return known[number, count]


def _nodes(module: Module, count: int) -> list[str]:
    """The scopes of all tensors, in a module."""
    known = _each.setdefault(module, {})
    if count not in known:
        root = module.add_metadata([DOMAIN])
        known[count] = [module.add_metadata([f"{DOMAIN}.{each}", root]) for each in range(count)]
    return known[count]


def emit_prefetch(builder: Builder, pointer: Value) -> None:
    """Ask for the line of one address."""
    kind = I8.as_pointer()
    function = declare(builder, "llvm.prefetch.p0", VOID, [kind, I32, I32, I32])
    read, keep, data = constant(I32, 0), constant(I32, 3), constant(I32, 1)
    builder.call(function, [builder.bitcast(pointer, kind), read, keep, data])


@in_llvm("void", "array", "int64", "int64")
def prefetch(builder: Builder, args: list[Value]) -> None:
    """``prefetch(view, start, size)``: bring bytes near, while other work goes on.

    The hardware sees through rows that are read one after the other, not through columns.
    """
    memory, start, size = args
    pointer = I8.as_pointer()
    first = builder.gep(builder.bitcast(memory, pointer), start)

    def line(k: Value) -> None:
        emit_prefetch(builder, builder.gep(first, builder.mul(k, i64(LINE_BYTES))))

    lines = builder.sdiv(builder.add(size, i64(LINE_BYTES - 1)), constant(I64, LINE_BYTES))
    builder.turns(i64(0), lines, i64(1), line, is_rolled=True)


def _call_address(builder: Builder, args: list[Value]) -> None:
    address, *rest = args
    builder.call(builder.inttoptr(address, function_type(VOID)), rest)


call_python = Written("call_python", "void", ("int64", "int64"), _call_address)
"""``call_python(address, number)``: let Python run the call of that number."""

arrive = Written("arrive", "void", ("int64",) * 5, _call_address)
"""``arrive(address, stream, visit, step, start)``: wait until the steps of a block are in memory.

``start`` is the place of the history's first step, in elements from the beginning of the arena.
"""

invoke = Written("invoke", "void", ("int64", "array", "array", "indices"), _call_address)
"""``invoke(address, memory, table, integers)``: call a kernel."""


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

    return Written(name, "void", ("array", "int64", "int64", "int64", "int64"), emit)


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
