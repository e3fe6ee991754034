"""Conditions on the points of a domain: boolean combinations of affine comparisons."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import assert_never, cast

from ostinato.pdg.hashed_once import Keyed, hashed_once
from ostinato.pdg.index import (
    Dim,
    Expr,
    ExprLike,
    Extent,
    Point,
    Substitution,
    evaluate,
    expr,
    symbols,
)


class _Condition(Keyed):
    """What every condition is asked for, as an index is."""

    __slots__ = ()

    @property
    def symbols(self) -> frozenset[Dim | Extent]:
        """All dimensions and extents that it mentions."""
        return frozenset[Dim | Extent]().union(*map(symbols, compared(cast("Cond", self))))

    @property
    def dims(self) -> frozenset[Dim]:
        """The dimensions that it mentions."""
        return frozenset(s for s in self.symbols if isinstance(s, Dim))

    def at(self, by: Substitution) -> Cond:
        """Where dimensions or extents are replaced by expressions, all at once."""
        match cast("Cond", self):
            case Compare(of, "ge"):
                return at_least(of.at(by), 0)
            case Compare(of, _):
                return equal(of.at(by), 0)
            case Every(of_):
                return every(*(c.at(by) for c in of_))
            case Some(of_):
                return some(*(c.at(by) for c in of_))
            case Negation(of__):
                return negation(of__.at(by))
            case other:
                assert_never(other)


@hashed_once
@dataclass(frozen=True, slots=True)
class Compare(_Condition):
    """``of >= 0`` or ``of == 0``."""

    of: Expr
    kind: str  # "ge" | "eq"

    def __str__(self) -> str:
        positive = Expr(tuple((a, k) for a, k in self.of.terms if k > 0), max(self.of.const, 0))
        negative = positive - self.of
        return f"{positive} {'>=' if self.kind == 'ge' else '=='} {negative}"


@hashed_once
@dataclass(frozen=True, slots=True)
class Every(_Condition):
    """All conditions hold; ``Every(())`` is true."""

    of: tuple[Cond, ...]

    def __str__(self) -> str:
        return " and ".join(map(_inner, self.of)) or "True"


@hashed_once
@dataclass(frozen=True, slots=True)
class Some(_Condition):
    """At least one condition holds; ``Some(())`` is false."""

    of: tuple[Cond, ...]

    def __str__(self) -> str:
        return " or ".join(map(_inner, self.of)) or "False"


@hashed_once
@dataclass(frozen=True, slots=True)
class Negation(_Condition):
    """The condition does not hold."""

    of: Cond

    def __str__(self) -> str:
        return f"not {_inner(self.of)}"


Cond = Compare | Every | Some | Negation
ALWAYS: Cond = Every(())
NEVER: Cond = Some(())


def _inner(cond: Cond) -> str:
    return str(cond) if isinstance(cond, Compare) else f"({cond})"


def at_least(a: ExprLike, b: ExprLike) -> Cond:
    """``a >= b``."""
    gap = expr(a) - expr(b)
    if gap.is_const:
        return ALWAYS if gap.const >= 0 else NEVER
    return Compare(gap, "ge")


def equal(a: ExprLike, b: ExprLike) -> Cond:
    """``a == b``."""
    gap = expr(a) - expr(b)
    if gap.is_const:
        return ALWAYS if gap.const == 0 else NEVER
    if gap.terms[0][1] < 0:  # one sign for both spellings
        gap = -gap
    return Compare(gap, "eq")


def every(*conds: Cond) -> Cond:
    """Conjunction; ``ALWAYS`` disappears and ``NEVER`` decides."""
    return _joined(Every, conds, NEVER)


def some(*conds: Cond) -> Cond:
    """Disjunction; ``NEVER`` disappears and ``ALWAYS`` decides."""
    return _joined(Some, conds, ALWAYS)


def _joined(kind: type[Every] | type[Some], conds: Iterable[Cond], decides: Cond) -> Cond:
    flat: dict[Cond, None] = {}
    for cond in conds:
        flat |= dict.fromkeys(cond.of if isinstance(cond, kind) else (cond,))
    if decides in flat:
        return decides
    return next(iter(flat)) if len(flat) == 1 else kind(tuple(flat))


def negation(cond: Cond) -> Cond:
    """The complement."""
    match cond:
        case Negation(of):
            return of
        case Every(of) if not of:
            return NEVER
        case Some(of) if not of:
            return ALWAYS
        case Compare(of, "ge"):
            return at_least(-of, 1)
        case _:
            return Negation(cond)


def holds(cond: Cond, point: Point) -> bool:
    """Whether the condition is true at a point."""
    match cond:
        case Compare(of, kind):
            value = evaluate(of, point)
            return value >= 0 if kind == "ge" else value == 0
        case Every(of_):
            return all(holds(c, point) for c in of_)
        case Some(of_):
            return any(holds(c, point) for c in of_)
        case Negation(of__):
            return not holds(of__, point)
        case other:
            assert_never(other)


def compared(cond: Cond) -> Iterator[Expr]:
    """The expressions that a condition compares with 0."""
    todo: list[Cond] = [cond]
    while todo:
        match todo.pop():
            case Compare(of):
                yield of
            case Negation(inner):
                todo.append(inner)
            case several:
                todo.extend(reversed(several.of))
