"""The greatest value that an index expression may have."""

from __future__ import annotations

from typing import assert_never

from ostinato.pdg.index import (
    Dim,
    Expr,
    ExprLike,
    Extent,
    Extremum,
    FloorDiv,
    Mod,
    Product,
    expr,
    extremum,
    floordiv,
    product,
)


def upper_bound(value: ExprLike) -> Expr:
    """An expression of extents alone that is never below ``value`` inside the box.

    Each dimension contributes its largest value ``T - 1`` where it adds and 0 where it subtracts.
    """
    return _extreme(expr(value), upper=True)


def _extreme(e: Expr, upper: bool) -> Expr:
    paired = _paired(e) if upper else None
    if paired is not None:
        return _extreme(paired, upper)
    options = _options(e)
    if options is not None:
        return extremum(options[0], [_extreme(x, upper) for x in options[1]])
    total = expr(e.const)
    for atom, k in e.terms:
        high = upper == (k > 0)
        match atom:
            case Dim():
                part = expr(atom.extent) - 1 if high else expr(0)
            case Extent():
                part = expr(atom)
            case FloorDiv(of, by):
                part = floordiv(_extreme(of, high), by)
            case Mod(of, by):
                part = expr(by - 1) if high else expr(0)
            case Extremum(kind, of_):
                part = extremum(kind, [_extreme(x, high) for x in of_])
            case Product(of_):  # sizes are never negative
                part = product(_extreme(x, high) for x in of_)
            case other:
                assert_never(other)
        total = total + part * k
    return total


def _paired(e: Expr) -> Expr | None:
    """The most that a difference of two minima may be whose operands differ by constants.

    ``min(8 * c + 8, t) - min(8 * c, t)`` is at most 8, whichever operand on the right is the least.
    """
    minima = {k: a for a, k in e.terms if isinstance(a, Extremum) and a.kind == "min"}
    if not {1, -1} <= minima.keys():
        return None
    gaps = [[(x - y).const for x in minima[1].of if (x - y).is_const] for y in minima[-1].of]
    rest = e - Expr(((minima[1], 1),), 0) + Expr(((minima[-1], 1),), 0)
    return rest + max(map(min, gaps)) if all(gaps) else None


def _options(e: Expr) -> tuple[str, tuple[Expr, ...]] | None:
    """The kind and operands of a sum as one extremum, if its terms move with one inside it.

    ``t + 1 - max(t - 2, 0)`` is ``min(3, t + 1)``: bounds of the terms by themselves are loose.
    """
    for atom, k in e.terms:
        if isinstance(atom, Extremum):
            rest = e - Expr(((atom, k),), 0)
            inside = frozenset[Dim]().union(*(each.dims for each in atom.of))
            if rest.dims & inside:
                flipped = {"min": "max", "max": "min"}[atom.kind]
                return (atom.kind if k > 0 else flipped, tuple(rest + x * k for x in atom.of))
    return None
