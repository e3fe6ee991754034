"""Large products: panels of B are copied side by side, in blocks along k that stay in the L1 cache.

In a wide matrix the rows of a panel lie far apart, fall into few sets of the cache and leave it
before the next rows of A want them. While one block is used, the next is asked for.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from ostinato.codegen.cpu.access import emit_prefetch
from ostinato.codegen.cpu.flags import LINE_BYTES
from ostinato.codegen.cpu.llvm import Builder, alloca, emit_loop, local_array
from ostinato.codegen.cpu.llvm_text import Value, i64
from ostinato.codegen.cpu.matmul_blocks import emit_columns, emit_many, rows_beside, widest
from ostinato.codegen.cpu.matmul_frame import (
    Epilogue,
    Frame,
    Mask,
    Tile,
    emit_blocks,
    load_lanes,
    start_sums,
)
from ostinato.codegen.cpu.vector import FORMATS, Vector
from ostinato.codegen.loops.expression import ITEM_BYTES
from ostinato.codegen.loops.matmul_spec import Matmul

LARGE, WIDE = 1 << 17, 1 << 11  # bytes of B and of one row of it from which on copies pay
FEWEST = 64  # rows for which they do
DEEP = 128  # elements along k of a block
ROWS = 128  # of the result, whose sums are kept between blocks


def is_large(spec: Matmul) -> bool:
    """Whether a product in the broadcast form should copy panels of B."""
    if not isinstance(spec.n, int) or spec.b[1] != 1:
        return False
    few, row = isinstance(spec.m, int) and spec.m < FEWEST, spec.n * ITEM_BYTES[spec.dtype]
    return not few and row >= WIDE and row * spec.deepest >= LARGE


def emit_packed(frame: Frame) -> None:
    """Emit the whole product, some rows after the other."""
    b, m, n = frame.builder, frame.spec.m, frame.spec.n
    assert isinstance(n, int), "large products have a known number of columns"
    packed = _Packed.make(frame)

    def chunk(first: Value, rows: int | Value) -> None:
        def panel(v: Vector, columns: int, n: Value, mask: Mask | None) -> None:
            packed.panel(_Panel(v, columns, n, mask, first, rows))

        emit_columns(frame, n, panel)

    if isinstance(m, int):
        emit_blocks(b, m, ROWS, chunk)
        return
    size = frame.size(m)
    count = b.sdiv(b.add(size, i64(ROWS - 1)), i64(ROWS))

    def some(k: Value) -> None:
        first = b.mul(k, i64(ROWS))
        rest = b.sub(size, first)
        chunk(first, b.select(b.icmp_signed("<", rest, i64(ROWS)), rest, i64(ROWS)))

    emit_loop(b, count, some)


@dataclass(frozen=True)
class _Panel:
    """Some columns of the result for some rows; ``mask`` covers the end of the last vector."""

    v: Vector
    columns: int
    n: Value
    mask: Mask | None
    first: Value
    rows: int | Value


@dataclass(frozen=True)
class _Packed:
    """The memory beside one product: a block of B, and the sums of a panel."""

    frame: Frame
    blocks: int
    deep: int
    width: int  # of a line of either, in elements
    b_place: Value
    sums: Value

    @classmethod
    def make(cls, frame: Frame) -> _Packed:
        k = frame.spec.deepest
        blocks = -(-k // DEEP)
        deep, width = -(-k // blocks), widest(frame) * max(frame.width, 1)
        element = FORMATS[frame.spec.dtype].element
        b_place = local_array(frame.builder, element, deep * width, LINE_BYTES)
        sums = local_array(frame.builder, element, ROWS * width if blocks > 1 else 1, LINE_BYTES)
        return cls(frame, blocks, deep, width, b_place, sums)

    @property
    def b(self) -> Builder:
        return self.frame.builder

    def panel(self, p: _Panel) -> None:
        """Emit a panel: all blocks but the last add to the sums in memory."""
        b, last = self.b, self.deep * (self.blocks - 1)
        if self.blocks > 1:
            self.start(p)
            emit_loop(b, i64(self.blocks - 1), lambda i: self.add(p, b.mul(i, i64(self.deep))))
        count = self.steps(i64(last), self.frame.spec.deepest - last)
        self.copy(p, i64(last), count)

        def finish(tile: Tile, row: Value) -> None:
            sums = self.block(p, tile, row, (i64(last), count))
            epilogue = Epilogue(self.frame, p.v, tile)
            for at, total in sums.items():
                epilogue.emit(at, b.load(total))

        self.tiles(p, finish)

    def steps(self, first: Value, most: int) -> int | Value:
        """The number of steps along k of the block that begins there."""
        b, k = self.b, self.frame.length(self.frame.spec.k)
        if isinstance(k, int):
            return most
        rest = b.sub(k, first)
        rest = b.select(b.icmp_signed("<", rest, i64(0)), i64(0), rest)
        return b.select(b.icmp_signed("<", rest, i64(most)), rest, i64(most))

    def start(self, p: _Panel) -> None:
        """Set the sums of a panel to what they start from."""

        def begin(tile: Tile, row: Value) -> None:
            places = {at: self.sum_place(p, row, at) for at in tile.cells}
            start_sums(self.frame, p.v, tile, places)

        self.tiles(p, begin)

    def add(self, p: _Panel, first: Value) -> None:
        """Add one block along k to the sums of a panel."""
        count = self.steps(first, self.deep)
        self.copy(p, first, count)

        def more(tile: Tile, row: Value) -> None:
            for at, total in self.block(p, tile, row, (first, count)).items():
                p.v.store(self.b.load(total), self.sum_place(p, row, at))

        self.tiles(p, more)

    def copy(self, p: _Panel, first: Value, count: int | Value) -> None:
        """Copy the block of B at step ``first``."""
        b, frame = self.b, self.frame
        stride = frame.spec.b[0]
        source = frame.pointer(frame.offsets[1], frame.scaled(first, stride), p.n)

        def line(k: Value) -> None:
            at = b.gep(source, frame.scaled(k, stride))
            to = b.gep(self.b_place, b.mul(k, i64(self.width)))
            for j in range(p.columns):
                mask = p.mask if j == p.columns - 1 else None
                step = i64(j * max(p.v.lanes, 1))
                p.v.store(load_lanes(frame, p.v, b.gep(at, step), 1, mask), b.gep(to, step))

        emit_many(b, count, line)

    def tiles(self, p: _Panel, body: Callable[[Tile, Value], None]) -> None:
        """Emit ``body(tile, row)`` for blocks of rows; ``row`` counts from the panel's first."""
        b = self.b

        def rows(m: Value, count: int) -> None:
            body(Tile(count, p.columns, b.add(p.first, m), p.n, p.mask), m)

        emit_blocks(b, p.rows, rows_beside(self.frame, p.columns), rows)

    def sum_place(self, p: _Panel, row: Value, at: tuple[int, int]) -> Value:
        b = self.b
        line = b.mul(self.frame.plus(row, at[0]), i64(self.width))
        return b.gep(self.sums, b.add(line, i64(at[1] * max(p.v.lanes, 1))))

    def block(
        self, p: _Panel, tile: Tile, row: Value, steps: tuple[Value, int | Value]
    ) -> dict[tuple[int, int], Value]:
        """Multiply the block of B; return where the sums of a tile are."""
        b, frame, v = self.b, self.frame, p.v
        first, count = steps
        sums = {at: alloca(b, v.type) for at in tile.cells}
        if self.blocks == 1:
            start_sums(frame, v, tile, sums)
        else:
            for at, total in sums.items():
                b.store(v.load(self.sum_place(p, row, at)), total)
        self.ask_for_next(p, row, first, tile.rows)
        a_rows = [
            frame.pointer(
                frame.offsets[0],
                frame.scaled(frame.plus(tile.m, r), frame.spec.a[0]),
                frame.scaled(first, frame.spec.a[1]),
            )
            for r in range(tile.rows)
        ]

        def multiply(k: Value) -> None:
            line = b.gep(self.b_place, b.mul(k, i64(self.width)))
            across = [v.load(b.gep(line, i64(j * max(v.lanes, 1)))) for j in range(tile.columns)]
            down = [v.splat(b.load(b.gep(a, frame.scaled(k, frame.spec.a[1])))) for a in a_rows]
            for r, j in sums:
                b.store(v.plus_product(b.load(sums[r, j]), down[r], across[j]), sums[r, j])

        emit_many(b, count, multiply)
        return sums

    def ask_for_next(self, p: _Panel, row: Value, first: Value, rows: int) -> None:
        """Ask for a share of the block that comes next, or of the first block of the next panel."""
        b, frame = self.b, self.frame
        share = max(1, self.deep * rows // (p.rows if isinstance(p.rows, int) else ROWS))
        is_last = b.icmp_signed(">=", first, i64(self.deep * (self.blocks - 1)))
        k = b.select(is_last, i64(0), b.add(first, i64(self.deep)))
        n = b.select(is_last, b.add(p.n, i64(p.columns * max(p.v.lanes, 1))), p.n)
        begin = b.add(k, b.mul(b.sdiv(row, i64(rows)), i64(share)))
        place = frame.pointer(frame.offsets[1], frame.scaled(begin, frame.spec.b[0]), n)
        per_line = LINE_BYTES // (p.v.format.bits // 8)
        for j in range(share):
            for step in range(0, self.width, per_line):
                apart = b.add(frame.scaled(i64(j), frame.spec.b[0]), i64(step))
                emit_prefetch(b, b.gep(place, apart))
