"""Where an update changes what it reads: ``where(test, new, old)`` is ``old`` where the test fails.

What has to hold for a value to differ from an element that it reads is told as limits: bounds of an
index, where the test compares it with something else, and tests as they stand.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from typing import Literal

from ostinato.codegen.ir.system import (
    Axis,
    Call,
    Choice,
    Literal_,
    Load,
    Position,
    Statement,
    Value,
    loads,
)
from ostinato.codegen.ir.values import Rewrite, value_symbols
from ostinato.pdg.bounds import conjuncts
from ostinato.pdg.condition import Compare, Cond, negation
from ostinato.pdg.index import Dim, Extent, expr

NEGATED = {"eq": "ne", "ne": "eq", "lt": "ge", "ge": "lt", "gt": "le", "le": "gt"}
TURNED = {"eq": "eq", "ne": "ne", "lt": "gt", "gt": "lt", "le": "ge", "ge": "le"}
ONE, TRUE, FALSE = Literal_(1, "int64"), Literal_(True, "bool"), Literal_(False, "bool")
FAR = 2**62  # behind the end of any axis
PLACES = tuple(Dim(f"axis {k}") for k in range(8))  # stand for the axes of any statement


@dataclass(frozen=True, slots=True)
class Test:
    """Where this is false, all elements stay as they are."""

    of: Value

    @property
    def symbols(self) -> frozenset[Dim | Extent]:
        """What has to be known before."""
        return value_symbols(self.of)

    @property
    def reads_memory(self) -> bool:
        """Whether it asks for what is stored."""
        return bool(loads(self.of))


@dataclass(frozen=True, slots=True)
class Bound(Test):
    """Elements below this along an axis stay as they are ("low"), or those from it on ("end")."""

    axis: Dim
    side: Literal["low", "end"]


Limits = frozenset[Test]  # bounds among them


def changed(value: Value, old: Load, inner: Mapping[Load, Value]) -> Limits | None:
    """What holds wherever a value differs from an element that it reads; None: nowhere.

    ``inner`` are values that have another name.
    """
    match value:
        case Load():
            return None if value == old else frozenset()
        case Call("where", (test, then, other)):
            sides = (_limits(test, True, inner), then), (_limits(test, False, inner), other)
        case Choice(cond, then, other):
            sides = (_asked(cond), then), (_asked(negation(cond)), other)
        case _:
            return frozenset()
    found = [(limits, changed(side, old, inner)) for limits, side in sides]
    live = [limits | more for limits, more in found if more is not None]
    return reduce(frozenset[Test].intersection, live) if live else None


def updated_at(s: Statement, axes: Sequence[Axis]) -> tuple[frozenset[Value], ...]:
    """The positions along axes from which on a value may differ from an element that it reads.

    There are none if it may differ anywhere. Axes are named by their places.
    """
    own = s.here.axes
    read = [(value, x) for _, value in s.clauses for x in loads(value) if x.axes == own]
    limits = [changed(value, x, {}) or () for value, x in read if s.kind == "map"]
    places = Rewrite({a.index: expr(place) for a, place in zip(axes, PLACES, strict=False)})
    found = {
        (b.axis, places.value(b.of))
        for of in limits
        for b in of
        if isinstance(b, Bound) and b.side == "low"
    }
    if not found:
        return ()
    return tuple(frozenset(at for axis, at in found if axis == a.index) for a in axes)


def bounds_of(test: Value) -> tuple[Bound, ...]:
    """What bounds indices wherever a computed condition holds."""
    return tuple(x for x in _limits(test, True, {}) if isinstance(x, Bound))


def _limits(test: Value, holds: bool, inner: Mapping[Load, Value]) -> Limits:
    """What is true wherever a computed condition holds, or does not."""
    if isinstance(test, Load) and test in inner:
        return _limits(inner[test], holds, inner)
    match test:
        case Call("not", (of,)):
            return _limits(of, not holds, inner)
        case Call("and" | "or" as fn, args) if holds == (fn == "and"):
            return frozenset[Test]().union(*(_limits(x, holds, inner) for x in args))
        case Call("and" | "or" as fn, (a, b)):
            one, two = (x if holds else Call("not", (x,), "bool") for x in (a, b))
            found = (*_relaxed(one, two, inner), *_relaxed(two, one, inner))
            return frozenset(found) or frozenset((Test(Call("or", (one, two), "bool")),))
        case Call(fn, (a, b)) if fn in NEGATED and a.dtype == "int32":
            kind = fn if holds else NEGATED[fn]
            bounds = frozenset((*_bounds(kind, a, b), *_bounds(TURNED[kind], b, a)))
            return bounds or frozenset((Test(Call(kind, (a, b), "bool")),))
        case Choice(cond, then, other) if (then, other) == (TRUE, FALSE):
            return _asked(cond if holds else negation(cond))
        case _:
            return frozenset((Test(test if holds else Call("not", (test,), "bool")),))


def _relaxed(test: Value, other: Value, inner: Mapping[Load, Value]) -> Iterator[Bound]:
    """The bounds of indices where one test holds or another one, which is asked before."""
    for x in _limits(test, True, inner):
        if isinstance(x, Bound) and x.axis not in value_symbols(other):
            none = Literal_(0 if x.side == "low" else FAR, "int64")
            yield replace(x, of=Call("where", (other, none, x.of), "int64"))


def _bounds(kind: str, index: Value, at: Value) -> Iterator[Bound]:
    """The bounds of an index that compares so with a value."""
    axis = index.of.as_dim() if isinstance(index, Position) else None
    if axis is None or axis in value_symbols(at):
        return
    here, behind = _wide(at)
    if kind in ("eq", "ge"):
        yield Bound(here, axis, "low")
    if kind == "gt":
        yield Bound(behind, axis, "low")
    if kind in ("eq", "le"):
        yield Bound(behind, axis, "end")
    if kind == "lt":
        yield Bound(here, axis, "end")


def _wide(at: Value) -> tuple[Value, Value]:
    """An int32 as one of the indices of loops, and the next one."""
    match at:
        case Position(of):
            return Position(of, "int64"), Position(of + 1, "int64")
        case Literal_(value):
            return _wide(Position(expr(int(value))))
        case _:
            here = Call("cast", (at,), "int64")
            return here, Call("add", (here, ONE), "int64")


def _asked(cond: Cond) -> Limits:
    """What is true where a condition on indices holds: of each index, and as a whole."""
    found = set[Test]()
    for each in conjuncts(cond):
        found.add(Test(Choice(each, TRUE, FALSE, "bool")))
        if isinstance(each, Compare):
            found |= {b for d in each.of.dims for b in _solved(each, d)}
    return frozenset(found)


def _solved(cond: Compare, axis: Dim) -> Iterator[Bound]:
    """The bounds of an index that occurs once in a comparison, with the factor 1 or -1."""
    slope = dict(cond.of.terms).get(axis)
    if slope not in (1, -1):
        return
    at = expr(axis) - cond.of if slope == 1 else expr(axis) + cond.of  # where both sides are equal
    if axis in at.dims:
        return
    if slope == 1 or cond.kind == "eq":
        yield Bound(Position(at, "int64"), axis, "low")
    if slope == -1 or cond.kind == "eq":
        yield Bound(Position(at + 1, "int64"), axis, "end")
