"""The blocks of a product: how many rows and vectors of its result are accumulated at once."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from ostinato.codegen.cpu.flags import VECTOR_BYTES, vector_registers
from ostinato.codegen.cpu.llvm import Builder, emit_loop
from ostinato.codegen.cpu.llvm_text import Value, i64
from ostinato.codegen.cpu.matmul_frame import FEW_ROWS, Body, Frame, Mask, emit_blocks, power_above
from ostinato.codegen.cpu.vector import Vector
from ostinato.codegen.target import together

UNROLL = 4  # steps along k in one turn of a loop
CHAINS = 8  # sums in flight that hide the latency of a multiply-add, two of which start at a time

Panel: TypeAlias = Callable[[Vector, int, Value, Mask | None], None]


def accumulators() -> tuple[int, int]:
    """Registers that hold sums, and vectors beside each other, on this machine.

    What is left holds the vectors of B and one element of A.
    """
    return (16, 4) if vector_registers() == 32 else (12, 2)


def widest(frame: Frame) -> int:
    """Return how many vectors of a row are computed at once; of one row alone twice as many."""
    return accumulators()[1] * (2 if frame.spec.m == 1 else 1)


def rows_beside(frame: Frame, columns: int) -> int:
    """Return how many rows are computed at once beside so many vectors."""
    return chosen_rows(accumulators()[0], columns, frame.length(frame.spec.m))


def chosen_rows(sums: int, columns: int, m: int | Value) -> int:
    """Return the rows that leave no shorter block, if sums enough are in flight; else all that fit.

    Of a number of rows that is not known no more than those sums need, or four.

    >>> [chosen_rows(16, columns, 32) for columns in (1, 2, 3, 4)]
    [16, 8, 4, 4]
    """
    most = max(1, sums // columns)
    if not isinstance(m, int):
        return min(most, max(FEW_ROWS, CHAINS // columns))
    even = [r for r in range(most, 0, -1) if m % r == 0 and r * columns >= CHAINS]
    return even[0] if even else most


def split(vectors: int, most: int) -> tuple[int, list[int]]:
    """Return the number of panels of ``most`` vectors, and the sizes of those after them.

    None of these is one vector alone where that can be avoided: it would use few registers.

    >>> [split(count, 4) for count in (1, 3, 4, 5, 8, 9)]
    [(0, [1]), (0, [3]), (1, []), (0, [3, 2]), (2, []), (1, [3, 2])]
    """
    whole, rest = divmod(vectors, most)
    if rest == 1 and whole and most > 2:
        return whole - 1, [most - 1, 2]
    return whole, [rest] if rest else []


def emit_rows(frame: Frame, block: int, rows: Body, blank: Body) -> None:
    """Emit ``rows(first, count)`` for blocks of rows.

    Of a tile that has fewer rows than slots, blocks without a row get ``blank(first, count)``, as
    far as slots are computed together.
    """
    b, length, read = frame.builder, frame.length(frame.spec.m), frame.rows()
    if read is None or not isinstance(length, int) or length % block:
        emit_blocks(b, length, block, rows)
        return
    each = together(length, VECTOR_BYTES // 4)
    if frame.spec.living == "m" or each % block:  # rows that live are anywhere
        most = i64(length // block)
    else:
        most = b.mul(_times(b, read, each), i64(each // block))
    done = _times(b, read, block)
    emit_loop(b, done, lambda k: rows(b.mul(k, i64(block)), block))
    left = b.sub(most, done)
    emit_loop(b, left, lambda k: blank(b.mul(b.add(done, k), i64(block)), block))


def _times(b: Builder, count: Value, each: int) -> Value:
    """Return how many blocks cover so many rows."""
    return b.sdiv(b.add(count, i64(each - 1)), i64(each))


def emit_columns(frame: Frame, length: int, panel: Panel) -> None:
    """Emit the panels of a literal number of columns; a mask covers the end of the last vector."""
    b = frame.builder
    lanes = max(1, min(frame.width, power_above(max(1, length))))
    v, rest = frame.vector(lanes), length % lanes
    most = widest(frame)
    whole, ends = split(-(-length // lanes), most)
    if rest and not ends:
        whole, ends = whole - 1, [most]
    if whole == 1:
        panel(v, most, i64(0), None)
    elif whole > 1:
        emit_loop(b, i64(whole), lambda k: panel(v, most, b.mul(k, i64(most * lanes)), None))
    first = whole * most
    for k, count in enumerate(ends):
        mask = Mask(i64(rest), rest) if rest and k == len(ends) - 1 else None
        panel(v, count, i64(first * lanes), mask)
        first += count


def emit_steps(b: Builder, length: int | Value, step: Callable[[Value], None]) -> None:
    """Emit ``step(k)`` for every k, several in one turn of the loop where the number is known.

    A loop of few turns ends as the processor expects.
    """
    if isinstance(length, int):
        _emit_turns(b, length // UNROLL, step)
        for k in range(length - length % UNROLL, length):
            step(i64(k))
    else:
        emit_loop(b, length, step)


def emit_many(b: Builder, length: int | Value, step: Callable[[Value], None]) -> None:
    """Emit ``step(k)`` for every k, several in one turn also where the number is not known."""
    if isinstance(length, int):
        emit_steps(b, length, step)
        return
    turns = b.sdiv(length, i64(UNROLL))
    _emit_turns(b, turns, step)
    done = b.mul(turns, i64(UNROLL))
    emit_loop(b, b.sub(length, done), lambda k: step(b.add(done, k)))


def _emit_turns(b: Builder, turns: int | Value, step: Callable[[Value], None]) -> None:

    def turn(number: Value) -> None:
        for k in range(UNROLL):
            step(b.add(b.mul(number, i64(UNROLL)), i64(k)))

    emit_loop(b, i64(turns) if isinstance(turns, int) else turns, turn)
