"""What all forms of a matmul share: addresses, masked vector access, elementwise steps, rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TypeAlias

from ostinato.codegen.cpu.llvm import Builder, alloca, declare, emit_if, emit_loop
from ostinato.codegen.cpu.llvm_text import (
    I8,
    I32,
    I64,
    VOID,
    Value,
    constant,
    i64,
    undefined,
    vector_type,
)
from ostinato.codegen.cpu.primitive import Argument, Primitive, Written
from ostinato.codegen.cpu.step_expression import evaluate
from ostinato.codegen.cpu.vector import Vector
from ostinato.codegen.loops.matmul_spec import ACCUMULATOR, Matmul, Operand, Size

Body: TypeAlias = Callable[[Value, int], None]

FEW_ROWS = 4  # rows that are worth a block of their own at the end of a number not known before


def power_above(count: int) -> int:
    """Return the smallest power of two that is not below a positive count."""
    return 1 << (count - 1).bit_length()


@dataclass(frozen=True)
class Mask:
    """The first ``count`` lanes of a vector; ``literal`` when the number is known."""

    count: Value
    literal: int | None


@dataclass(frozen=True)
class Tile:
    """A block of the result: ``rows`` by ``columns`` vectors (or scalars) from row m, column n.

    ``mask`` says how much of the last vector exists.
    """

    rows: int
    columns: int
    m: Value
    n: Value
    mask: Mask | None = None

    @property
    def cells(self) -> list[tuple[int, int]]:
        """The row and the column of each vector."""
        return [(r, j) for r in range(self.rows) for j in range(self.columns)]

    def mask_of(self, column: int) -> Mask | None:
        return self.mask if column == self.columns - 1 else None


@dataclass(frozen=True)
class Frame:
    """One matmul being emitted into its function."""

    builder: Builder
    spec: Matmul
    base: Value
    offsets: list[Value]
    sizes: dict[str, Value]
    width: int

    def vector(self, width: int) -> Vector:
        """Return arithmetic on that many lanes; one lane is a scalar."""
        return Vector(self.builder, self.spec.dtype, width if width > 1 else 0)

    def size(self, size: Size) -> Value:
        return self.sizes[size] if isinstance(size, str) else i64(size)

    def length(self, size: Size) -> int | Value:
        return self.sizes[size] if isinstance(size, str) else size

    def scaled(self, index: Value, stride: Size) -> Value:
        """Return index * stride."""
        if stride == 1:
            return index
        return i64(0) if stride == 0 else self.builder.mul(index, self.size(stride))

    def plus(self, value: Value, literal: int) -> Value:
        return self.builder.add(value, i64(literal)) if literal else value

    def row(self, m: Value, literal: int) -> Value:
        """Return the row of A, and of the result, that stands so far behind place m."""
        at = self.plus(m, literal)
        return self._listed(at) if self.spec.living == "m" else at

    def rows(self) -> Value | None:
        """Return the number of rows that anybody reads, where it may be less than ``m``."""
        if self.spec.living == "m":
            return listed(self.builder, self.offsets[-1], i64(0))
        return self.sizes[self.spec.rows] if self.spec.rows else None

    def term(self, k: Value) -> Value:
        """Return the position along k that stands at a place."""
        return self._listed(k) if self.spec.living == "k" else k

    def terms(self) -> int | Value:
        """Return the number of terms of each sum."""
        if self.spec.living == "k":
            return listed(self.builder, self.offsets[-1], i64(0))
        return self.length(self.spec.k)

    def emit_turns(self, turn: Callable[[Value, Value], None]) -> None:
        """Emit ``turn`` with the offsets of A and B for every position of the axes around k."""
        b = self.builder

        def inside(axes: Sequence[tuple[int, Size, Size]], a: Value, to: Value) -> None:
            if not axes:
                turn(a, to)
                return
            (count, first, second), *rest = axes
            emit_loop(
                b,
                i64(count),
                lambda i: inside(
                    rest, b.add(a, self.scaled(i, first)), b.add(to, self.scaled(i, second))
                ),
            )

        inside(self.spec.around, i64(0), i64(0))

    def moved(self, a: Value, b: Value) -> Frame:
        """The product of parts of A and B that lie so far behind."""
        first, second, *rest = self.offsets
        add = self.builder.add
        return replace(self, offsets=[add(first, a), add(second, b), *rest])

    def _listed(self, place: Value) -> Value:
        return listed(self.builder, self.offsets[-1], self.plus(place, 1))

    def pointer(self, *terms: Value) -> Value:
        """Return the address of the element whose offset is the sum of the terms."""
        total = terms[0]
        for term in terms[1:]:
            total = self.builder.add(total, term)
        return self.builder.gep(self.base, total)

    def place(self, operand: Operand, m: Value, n: Value) -> Value:
        """Return the address of an operand's element at a row and column of the result."""
        offset = self.offsets[2 + self.spec.operands.index(operand)]
        return self.pointer(offset, self.scaled(m, operand.m), self.scaled(n, operand.n))


def masked_load(v: Vector, pointer: Value, mask: Mask) -> Value:
    """Load the lanes of the mask; the others are 0."""
    name = f"llvm.masked.load.{v.suffix}.p0"
    typed = v.builder.bitcast(pointer, v.type.as_pointer())
    function = declare(v.builder, name, v.type, [v.type.as_pointer(), I32, v.bool_type, v.type])
    align = constant(I32, v.format.bits // 8)
    return v.builder.call(function, [typed, align, lane_mask(v, mask), v.const(0.0)])


def masked_store(v: Vector, value: Value, pointer: Value, mask: Mask) -> None:
    name = f"llvm.masked.store.{v.suffix}.p0"
    typed = v.builder.bitcast(pointer, v.type.as_pointer())
    function = declare(v.builder, name, VOID, [v.type, v.type.as_pointer(), I32, v.bool_type])
    align = constant(I32, v.format.bits // 8)
    v.builder.call(function, [value, typed, align, lane_mask(v, mask)])


def lane_mask(v: Vector, mask: Mask) -> Value:
    if mask.literal is not None:
        return constant(v.bool_type, [int(lane < mask.literal) for lane in range(v.lanes)])
    kind = vector_type(I64, v.lanes)
    empty = undefined(kind)
    first = v.builder.insert_element(empty, mask.count, constant(I32, 0))
    zeros = constant(vector_type(I32, v.lanes), [0] * v.lanes)
    count = v.builder.shuffle_vector(first, empty, zeros)
    return v.builder.icmp_signed("<", constant(kind, list(range(v.lanes))), count)


def load_lanes(frame: Frame, v: Vector, pointer: Value, stride: Size, mask: Mask | None) -> Value:
    """Load a vector whose elements lie ``stride`` apart."""
    b = frame.builder
    if stride == 1 and mask is not None:
        return masked_load(v, pointer, mask)
    if stride == 1 or not v.lanes:
        return v.load(pointer)
    if stride == 0:
        return v.splat(b.load(pointer))
    vector = v.const(0.0)
    literal = v.lanes if mask is None or mask.literal is None else mask.literal
    for lane in range(literal):
        step = frame.scaled(i64(lane), stride)
        if mask is not None and mask.literal is None:
            # Lanes past the end read the first element again, which is always there.
            step = b.select(b.icmp_signed("<", i64(lane), mask.count), step, i64(0))
        vector = b.insert_element(vector, b.load(b.gep(pointer, step)), constant(I32, lane))
    return vector


def store_lanes(
    frame: Frame, v: Vector, value: Value, pointer: Value, stride: Size, mask: Mask | None
) -> None:
    """Store a vector whose elements lie ``stride`` apart."""
    b = frame.builder
    if stride == 1 and mask is not None:
        return masked_store(v, value, pointer, mask)
    if stride == 1 or not v.lanes:
        return v.store(value, pointer)
    for lane in range(v.lanes if mask is None or mask.literal is None else mask.literal):
        element = b.extract_element(value, constant(I32, lane))
        place = b.gep(pointer, frame.scaled(i64(lane), stride))
        if mask is None or mask.literal is not None:
            b.store(element, place)
        else:
            is_inside = b.icmp_signed("<", i64(lane), mask.count)
            emit_if(b, is_inside, partial(b.store, element, place))
    return None


def operand_value(
    frame: Frame, v: Vector, operand: Operand, tile: Tile, at: tuple[int, int]
) -> Value:
    """Load an operand for row and column vector ``at`` of the tile."""
    m, n = _position(frame, v, tile, at)
    return load_lanes(frame, v, frame.place(operand, m, n), operand.n, tile.mask_of(at[1]))


def _position(frame: Frame, v: Vector, tile: Tile, at: tuple[int, int]) -> tuple[Value, Value]:
    row, column = at
    return frame.row(tile.m, row), frame.plus(tile.n, column * max(v.lanes, 1))


def store_value(
    frame: Frame, v: Vector, operand: Operand, tile: Tile, at: tuple[int, int], value: Value
) -> None:
    """Store to an operand at row and column vector ``at`` of the tile."""
    m, n = _position(frame, v, tile, at)
    place = frame.place(operand, m, n)
    store_lanes(frame, v, value, place, operand.n, tile.mask_of(at[1]))


def start_sums(frame: Frame, v: Vector, tile: Tile, places: dict[tuple[int, int], Value]) -> None:
    """Set the sums of a tile to what they start from."""
    b = frame.builder

    def read() -> None:
        for at, place in places.items():
            v.store(start_value(frame, v, tile, at), place)

    if not frame.spec.begun:
        read()
        return
    for place in places.values():
        v.store(v.const(0.0), place)
    emit_if(b, b.icmp_signed("!=", frame.sizes[frame.spec.begun], i64(0)), read)


def start_value(frame: Frame, v: Vector, tile: Tile, at: tuple[int, int]) -> Value:
    """Return what the accumulator holds before the products."""
    if frame.spec.start is None:
        return v.const(0.0)
    return operand_value(frame, v, frame.spec.operand(frame.spec.start), tile, at)


class Epilogue:
    """Emits the steps for every row and column vector of one tile."""

    def __init__(self, frame: Frame, v: Vector, tile: Tile) -> None:
        """Start with no operand loaded."""
        self.frame = frame
        self.v = v
        self.tile = tile
        self.shared: dict[tuple[str, int, int], Value] = {}

    def emit(self, at: tuple[int, int], accumulator: Value) -> None:
        """Run all steps on one accumulator."""
        spec = self.frame.spec
        known = {ACCUMULATOR: accumulator}
        # A step may store an operand that a later one reads: its value on entry is wanted.
        for name in sorted(spec.read() & spec.stored()):
            known[name] = operand_value(self.frame, self.v, spec.operand(name), self.tile, at)

        def lookup(name: str) -> Value:
            if name not in known:
                known[name] = self._invariant(spec.operand(name), at)
            return known[name]

        for step in spec.steps:
            known[step.name] = evaluate(self.v, step.expr, lookup)
            if step.store is not None:
                stored = spec.operand(step.store)
                store_value(self.frame, self.v, stored, self.tile, at, known[step.name])

    def _invariant(self, operand: Operand, at: tuple[int, int]) -> Value:
        """Load an operand that no step stores, once for the rows or columns that share it."""
        row = 0 if operand.m == 0 else at[0]
        column = 0 if operand.n == 0 else at[1]
        key = operand.name, row, column
        if key not in self.shared:
            at = row, column
            self.shared[key] = operand_value(self.frame, self.v, operand, self.tile, at)
        return self.shared[key]


def emit_zeros(frame: Frame, v: Vector, tile: Tile) -> None:
    """Store zeros: arithmetic on whatever memory holds, such as denormal numbers, may be slow."""
    for row in range(tile.rows):
        for column in range(tile.columns):
            for name in sorted(frame.spec.stored()):
                store_value(frame, v, frame.spec.operand(name), tile, (row, column), v.const(0.0))


def emit_blocks(b: Builder, size: int | Value, block: int, body: Body) -> None:
    """Emit ``body(first, length)`` for blocks that cover ``range(size)``.

    The rest of a literal size is one shorter block, that of a run-time size blocks of one, after a
    block of four where four may be left.
    """
    if isinstance(size, int):
        whole = size // block
        if whole == 1:
            body(i64(0), block)
        elif whole > 1:
            emit_loop(b, i64(whole), lambda i: body(b.mul(i, i64(block)), block))
        if size % block:
            body(i64(whole * block), size % block)
        return
    count = b.sdiv(size, i64(block))
    covered = b.mul(count, i64(block))
    emit_loop(b, count, lambda i: body(b.mul(i, i64(block)), block))
    if FEW_ROWS < block <= 2 * FEW_ROWS:
        first = covered
        some = b.icmp_signed(">=", b.sub(size, first), i64(FEW_ROWS))
        emit_if(b, some, lambda: body(first, FEW_ROWS))
        covered = b.add(first, b.mul(b.zext(some, I64), i64(FEW_ROWS)))
    if block > 1:
        emit_loop(b, b.sub(size, covered), lambda i: body(b.add(covered, i), 1))


def living(most: int) -> Primitive:
    """Return ``living(view, start, stride, size)``: the list of a mask of at most ``most`` bytes.

    Shapes: the mask's first ``size`` bytes lie ``stride`` apart from byte ``start`` of the view on.
    The result stands for the list while the function that calls it runs, or until it is made
    again at this place. `listed` reads it: how many are true, where those are, in ascending order,
    then where the mask is false and the positions from ``size`` on, up to ``most``.
    """
    name = f"living_{most}"
    kinds: tuple[Argument, ...] = ("array", "int64", "int64", "int64")
    return Written(name, "int64", kinds, partial(_emit, most), room=most + 1)


def listed(builder: Builder, address: Value, place: Value) -> Value:
    """Return an entry of a list: the number of living positions, then all positions."""
    places = builder.inttoptr(address, I64.as_pointer())
    return builder.load(builder.gep(places, place))


def _emit(most: int, b: Builder, args: list[Value]) -> Value:
    places, view, start, stride, size = args
    mask = b.gep(b.bitcast(view, I8.as_pointer()), start)
    count = alloca(b, I64)
    b.store(i64(0), count)

    def note(position: Value) -> None:
        """Write a position behind the living ones, or before the dead ones, which come last."""
        byte = b.load(b.gep(mask, b.mul(position, stride)))
        lives, before = b.icmp_unsigned("!=", byte, constant(I8, 0)), b.load(count)
        last = b.sub(b.sub(size, i64(1)), b.sub(position, before))
        put(position, b.select(lives, before, last))
        b.store(b.add(before, b.zext(lives, I64)), count)

    def put(position: Value, place: Value) -> None:
        b.store(position, b.gep(places, b.add(place, i64(1))))

    def pad(k: Value) -> None:
        put(b.add(size, k), b.add(size, k))

    emit_loop(b, size, note)
    emit_loop(b, b.sub(i64(most), size), pad)
    b.store(b.load(count), b.gep(places, i64(0)))
    return b.ptrtoint(places, I64)
