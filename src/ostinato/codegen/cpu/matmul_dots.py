"""The matmul form for operands that are both consecutive in k: sums of lanes."""

from collections.abc import Callable

from ostinato.codegen.cpu.llvm import alloca, emit_if, emit_loop
from ostinato.codegen.cpu.llvm_text import Value, i64
from ostinato.codegen.cpu.matmul_blocks import emit_rows, rows_beside, widest
from ostinato.codegen.cpu.matmul_frame import (
    Epilogue,
    Frame,
    Mask,
    Tile,
    emit_blocks,
    emit_zeros,
    load_lanes,
    power_above,
    start_value,
)
from ostinato.codegen.cpu.vector import Vector


def emit_dots(frame: Frame) -> None:
    """Emit the whole product in blocks of rows and columns."""
    b, spec = frame.builder, frame.spec

    def panel(n: Value, columns: int) -> None:
        def tile(m: Value, rows: int) -> None:
            _emit_tile(frame, Tile(rows, columns, m, n))

        def blank(m: Value, rows: int) -> None:
            emit_zeros(frame, Vector(b, spec.dtype), Tile(rows, columns, m, n))

        emit_rows(frame, min(4, rows_beside(frame, columns)), tile, blank)

    emit_blocks(b, frame.length(spec.n), min(4, widest(frame)), panel)


def _emit_tile(frame: Frame, tile: Tile) -> None:
    """Multiply vectors along k, add up their lanes in a fixed order, run the steps on scalars."""
    b, spec = frame.builder, frame.spec
    v = _along_k(frame)
    at = [(r, j) for r in range(tile.rows) for j in range(tile.columns)]
    sums = {each: alloca(b, v.type) for each in at}
    for each in at:
        b.store(v.const(0.0), sums[each])
    a_rows = [
        frame.pointer(frame.offsets[0], frame.scaled(frame.plus(tile.m, r), spec.a[0]))
        for r in range(tile.rows)
    ]
    b_rows = [
        frame.pointer(frame.offsets[1], frame.scaled(frame.plus(tile.n, j), spec.b[1]))
        for j in range(tile.columns)
    ]

    def multiply(k: Value, mask: Mask | None) -> None:
        down = [load_lanes(frame, v, b.gep(row, k), 1, mask) for row in a_rows]
        across = [load_lanes(frame, v, b.gep(row, k), 1, mask) for row in b_rows]
        for r, j in at:
            b.store(v.fma(down[r], across[j], b.load(sums[r, j])), sums[r, j])

    _emit_k(frame, v, multiply)
    scalar = Vector(b, spec.dtype)
    epilogue = Epilogue(frame, scalar, tile)
    for each in at:
        start = start_value(frame, scalar, tile, each)
        epilogue.emit(each, b.fadd(start, v.sum_lanes(b.load(sums[each]))))


def _along_k(frame: Frame) -> Vector:
    length = frame.length(frame.spec.k)
    if isinstance(length, int):
        return frame.vector(min(frame.width, power_above(max(length, 2))))
    return frame.vector(frame.width)


def _emit_k(frame: Frame, v: Vector, multiply: Callable[[Value, Mask | None], None]) -> None:
    """Emit the whole vectors along k, then the rest under a mask."""
    b, length, width = frame.builder, frame.length(frame.spec.k), i64(max(v.lanes, 1))
    k = frame.size(frame.spec.k)
    emit_loop(b, b.sdiv(k, width), lambda i: multiply(b.mul(i, width), None))
    if not v.lanes:
        return
    if isinstance(length, int):
        rest = length % v.lanes
        if rest:
            multiply(i64(length - rest), Mask(i64(rest), rest))
        return
    count = b.srem(k, width)
    has_rest = b.icmp_signed(">", count, i64(0))
    emit_if(b, has_rest, lambda: multiply(b.sub(k, count), Mask(count, None)))
