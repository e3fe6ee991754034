"""How a product is dealt out: a thread adds up a block of elements, or a slice of their terms.

What is loaded for one element of a block serves others: of 4 x 4 elements a term takes 8 numbers,
two loads of four where these lie side by side. Where elements are few, several threads take slices
of the terms of each. A pass computes as many elements as the sums of which the block has room for.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import inf
from typing import Literal

from ostinato.codegen.cuda.alignment import VECTOR
from ostinato.codegen.loops.matmul_spec import Matmul, Size

Way = Literal["side", "terms", "each"]
"""How an operand is loaded: four rows or columns, four terms, or a number by itself."""

BLOCK_THREADS = 256  # eight warps, which a module is launched with: each thread should have work
SHARED_LANES = 2048  # of a kernel that runs alone: a block does so many in some barriers' time
WARP, PARTITIONS = 32, 4  # threads that run together; warps that do at a time
ROOM = 4096  # sums of a pass, in the memory of a block
MOST = 32  # sums of a thread at once
TYPICAL = 64  # terms of a sum, if nothing is known of them
WAIT = 40.0  # cycles until what is loaded is there; other warps of a partition go on
BEGIN, MEET, END = 60.0, 60.0, 40.0  # cycles: of a pass, of its barriers, of steps on elements


@dataclass(frozen=True)
class Share:
    """What a thread does at a time, and a pass of all of them."""

    rows: int
    columns: int
    slices: int
    height: int
    width: int
    a: Way = "each"
    b: Way = "each"

    @property
    def terms(self) -> int:
        """The terms of a turn."""
        return VECTOR if "terms" in (self.a, self.b) else 1

    @property
    def across(self) -> int:
        """The blocks beside each other."""
        return self.width // self.columns

    @property
    def blocks(self) -> int:
        return self.height // self.rows * self.across

    def loads(self, way: Way, count: int) -> int:
        """The loads of an operand in a turn, of which a thread has so many rows or columns."""
        match way:
            case "side":
                return count // VECTOR * self.terms
            case "terms":
                return count
            case "each":
                return count * self.terms


def share(spec: Matmul, aligned: frozenset[str]) -> Share | None:
    """How to deal out a product; None where elements are computed one by one.

    ``aligned`` names the operands that begin at multiples of a vector.

    >>> share(Matmul("float32", 64, 64, 64, (64, 1), (64, 1), (), ()), frozenset("ab"))
    Share(rows=4, columns=4, slices=1, height=64, width=64, a='terms', b='side')
    >>> share(Matmul("float32", 1, 64, 64, (64, 1), (64, 1), (), ()), frozenset("ab"))
    Share(rows=1, columns=8, slices=16, height=1, width=64, a='terms', b='side')
    """
    if spec.living or not (isinstance(spec.m, int) and isinstance(spec.n, int)):
        return None
    return min(_shares(spec, spec.m, spec.n, aligned), key=lambda x: cycles(spec, x), default=None)


def _shares(spec: Matmul, m: int, n: int, aligned: frozenset[str]) -> Iterator[Share]:
    for rows in (8, 4, 2, 1):
        for columns in (8, 4, 2, 1):
            if m % rows or n % columns or rows * columns > MOST:
                continue
            width = _largest(n, columns, ROOM // rows)
            for slices in (1, 2, 4, 8, 16, 32) if width else ():
                height = _largest(m, rows, ROOM // (width * slices))
                if height and _is_sliced(spec, slices):
                    a = _way(spec, "a", rows, slices, aligned)
                    b = _way(spec, "b", columns, slices, aligned)
                    yield Share(rows, columns, slices, height, width, a, b)


def _largest(size: int, unit: int, most: int) -> int:
    """The largest divisor of a size that is a multiple of ``unit`` and at most ``most``; or 0."""
    found = (size // k for k in range(1, size // unit + 1) if size % k == 0)
    return next((x for x in found if x <= most and x % unit == 0), 0)


def _is_sliced(spec: Matmul, slices: int) -> bool:
    if isinstance(spec.k, int):
        return spec.k % slices == 0 and (slices == 1 or spec.k > slices)
    return slices == 1 or spec.most == 0 or spec.most >= 2 * slices


def _way(spec: Matmul, operand: str, count: int, slices: int, aligned: frozenset[str]) -> Way:
    """How an operand is loaded of which a thread has so many rows or columns."""
    side, term = spec.a if operand == "a" else (spec.b[1], spec.b[0])
    size = spec.m if operand == "a" else spec.n
    around = [x[1] if operand == "a" else x[2] for x in spec.around]
    if operand not in aligned or not all(map(_is_multiple, around)):
        return "each"
    is_whole = operand == "b" or not spec.rows or _is_column(spec)
    if side == 1 and count % VECTOR == 0 and _is_multiple(term) and is_whole:
        return "side"
    fits = isinstance(spec.k, int) and spec.k // slices % VECTOR == 0
    if term == 1 and fits and (size == 1 or _is_multiple(side)):
        return "terms"
    return "each"


def _is_column(spec: Matmul) -> bool:
    """Whether all rows of the first operand are in memory, also those that nobody reads."""
    return all(isinstance(x, int) for x in (spec.m, spec.a[1])) and int(spec.a[1]) >= int(spec.m)


def _is_multiple(size: Size) -> bool:
    return isinstance(size, int) and size % VECTOR == 0


def cycles(spec: Matmul, of: Share) -> float:
    """What a product takes, about: loads and products of all warps, or the wait for loads."""
    assert isinstance(spec.m, int), "passes are of known sizes"
    assert isinstance(spec.n, int), "passes are of known sizes"
    passes = (spec.m // of.height) * (spec.n // of.width)
    if not passes:
        return inf
    lanes = of.blocks * of.slices
    warps = -(-min(lanes, BLOCK_THREADS) // WARP)
    turns = -(-(spec.deepest or TYPICAL) // (of.slices * of.terms))
    beside = max(1, min(WARP, of.across) // 8) if of.b == "side" else 1
    a, b = of.loads(of.a, of.rows), of.loads(of.b, of.columns)
    steps = a + b + of.terms * of.rows * of.columns
    together = max(1, warps / PARTITIONS)
    turn = max((a + b * beside) * warps, steps * together) + WAIT / together
    kept = of.rows * of.columns * warps
    sums = -(-lanes // BLOCK_THREADS) * (turns * turn + kept + BEGIN)
    elements = -(-of.height * of.width // BLOCK_THREADS)
    return passes * (sums + MEET + elements * (END + 2 * of.slices))
