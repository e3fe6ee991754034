"""Which integers an index expression may have, and whether 64 bits and integer sets hold it.

A dimension has at most `LONGEST` steps, which every run checks, so a bound on paper is one for
every run. Bounds are plain integers: loose where operands move together, never wrong.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from math import prod
from typing import assert_never

from ostinato.pdg.index import (
    Atom,
    Dim,
    Expr,
    ExprLike,
    Extent,
    Extremum,
    FloorDiv,
    Mod,
    Numbers,
    Product,
    expr,
    parts_of,
)

LONGEST = 2**30
"""The most steps of a dimension: sums and differences of two positions are int32 numbers."""

LARGEST = 2**60
"""The most that an index expression may compute on its way, so that no int64 overflows."""


@dataclass(frozen=True, slots=True)
class Interval:
    """All integers from ``low`` to ``high``."""

    low: int
    high: int

    def __add__(self, other: Interval) -> Interval:
        return Interval(self.low + other.low, self.high + other.high)

    def __sub__(self, other: Interval) -> Interval:
        return Interval(self.low - other.high, self.high - other.low)

    def __mul__(self, other: Interval) -> Interval:
        ends = [a * b for a in (self.low, self.high) for b in (other.low, other.high)]
        return Interval(min(ends), max(ends))

    def __neg__(self) -> Interval:
        return Interval(-self.high, -self.low)

    def __floordiv__(self, by: int) -> Interval:
        return Interval(self.low // by, self.high // by)

    def __mod__(self, by: int) -> Interval:
        if self.low // by == self.high // by:
            return Interval(self.low % by, self.high % by)
        return Interval(0, by - 1)

    def within(self, other: Interval) -> bool:
        return other.low <= self.low and self.high <= other.high


def hull(parts: Iterable[Interval]) -> Interval:
    """The least interval that holds others."""
    known = list(parts)
    return Interval(min(p.low for p in known), max(p.high for p in known))


def extreme(kind: str, parts: Iterable[Interval]) -> Interval:
    """The interval of a minimum or maximum."""
    known, pick = list(parts), min if kind == "min" else max
    return Interval(pick(p.low for p in known), pick(p.high for p in known))


def interval(value: ExprLike, at: Mapping[Dim, Interval] | None = None) -> Interval:
    """The integers that an expression may be at points of the box.

    ``at`` gives the integers that some dimensions may be instead.

    >>> interval(2 * expr(Dim("t")) - Extent("T"))
    Interval(low=-1073741824, high=2147483645)
    """
    known = at or {}

    def symbol(atom: Dim | Extent) -> Interval:
        if isinstance(atom, Extent):
            return Interval(1, LONGEST)
        return known[atom] if atom in known else Interval(0, LONGEST - 1)

    return Numbers(lambda k: Interval(k, k), symbol, extreme).value(expr(value))


@lru_cache(maxsize=1 << 14)
def magnitude(e: Expr) -> int:
    """The most that the absolute value of anything is that an expression computes.

    Products of extents count as 1: a run knows them, and checks what it stores and counts.

    >>> magnitude(2**40 * expr(Dim("t")) + 1) == 2**40 * LONGEST + 1
    True
    """
    return abs(e.const) + sum(abs(k) * _magnitude(atom) for atom, k in e.terms)


def _magnitude(atom: Atom) -> int:
    match atom:
        case Dim() | Extent():
            return LONGEST
        case FloorDiv(of, by) | Mod(of, by):
            return max(by, magnitude(of))
        case Extremum(_, of_):
            return max(map(magnitude, of_))
        case Product(of_):
            return max(1, prod(_constant_part(x) for x in of_))
        case other:
            assert_never(other)


def _constant_part(e: Expr) -> int:
    """How much larger than its extents a factor of a size may be."""
    return max(1, -(-magnitude(e) // LONGEST))


@lru_cache(maxsize=1 << 14)
def depth(e: Expr) -> int:
    """How many functions of an index expression stand one within the other.

    >>> depth((expr(Dim("t")) // 2 + 1) % 3), depth(expr(Dim("t")) + 1)
    (2, 0)
    """
    inside = (parts_of(atom) for atom, _ in e.terms)
    return max((1 + max(map(depth, parts)) for parts in inside if parts), default=0)


def is_quasi_affine(value: ExprLike) -> bool:
    """Whether no dimension is multiplied: products of extents alone are numbers of the run."""
    for atom, k in expr(value).terms:
        if isinstance(atom, Product):
            if Expr(((atom, k),), 0).dims:
                return False
        elif not all(map(is_quasi_affine, parts_of(atom))):
            return False
    return True
