"""The positions that masks keep, decided once by isl, before rules run.

A truth value that is computed from counts and indices says for every position of an axis whether it
is kept. Where these are one range at every point, or two, folds of what the mask keeps are folds
over these ranges, whatever the mask is made of.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ostinato.pdg.bounds import greatest, is_never_negative, smallest
from ostinato.pdg.build import const, map_node
from ostinato.pdg.condition import (
    ALWAYS,
    NEVER,
    Compare,
    Cond,
    Every,
    at_least,
    equal,
    every,
    negation,
    some,
)
from ostinato.pdg.functions import FLOATS, REPEATED, fold_unit
from ostinato.pdg.index import Dim, Expr, Slice, expr, floordiv, maximum, minimum
from ostinato.pdg.isl import Set, condition_set, domain_set
from ostinato.pdg.node import Const, Dtype, Map, Matmul, Node, Reduce
from ostinato.rewrite.load.positions import Counted, Row, number
from ostinato.rewrite.load.tables import Loaded

_MOST = 8  # conjunctions that a condition may have
_EXACT = 2**24  # up to here float32 has all integers


def add_masks(loaded: Loaded, add_node: Callable[[Node], None]) -> None:
    """Rows for the masks over all steps of a dimension, and for the parts that they keep."""
    tables, found = loaded.tables, False
    whole = {expr(d.extent): d for d in tables.dims}
    truths = [n for n in loaded.ids if n.dtype == "bool"]
    for row in Counted().rows(truths):
        size = row.node.shape[row.axis]
        cond = condition(row.element) if size in whole else None
        if cond is None:
            continue
        for kept, of in ((cond, row.node), (negation(cond), map_node("not", [row.node]))):
            parts = ranges(kept, row, row.node.domain)
            if not 0 < len(parts) < 3:
                continue
            if of not in loaded.ids:
                add_node(of)
            if of is not row.node:
                loaded.row("raw_opposite", loaded.ids[row.node], loaded.ids[of])
            numbers = [tables.id(part) for part in parts]
            name = "raw_keeps" if len(parts) == 1 else "raw_keeps_both"
            loaded.row(name, loaded.ids[of], -row.axis, *numbers)
            full = tables.id(whole[size].whole)
            for part in numbers:
                loaded.row("kept", part)
                loaded.row("section", tables.id(size), part)
                loaded.row("piece", full, part, part)
            found = True
    if found:
        _add_units(loaded, add_node)


def _add_units(loaded: Loaded, add_node: Callable[[Node], None]) -> None:
    """What folds of nothing give, and the number 0 of every float type."""
    nodes = list(loaded.ids)
    folds: dict[tuple[str, Dtype], None] = {
        (n.op.fn, n.dtype): None for n in nodes if isinstance(n.op, Reduce)
    }
    folds |= {("sum", n.dtype): None for n in nodes if isinstance(n.op, Matmul)}
    units = [
        ("raw_empty", (fn, dtype), const(fold_unit(fn, dtype), dtype))
        for fn, dtype in folds
        if fn in REPEATED
    ]
    dtypes: dict[Dtype, None] = {n.dtype: None for n in nodes if n.dtype in FLOATS}
    for relation, cells, unit in (*units, *(("raw_zero", (e,), const(0, e)) for e in dtypes)):
        if unit not in loaded.ids:
            add_node(unit)
        loaded.row(relation, *cells, loaded.ids[unit])


def condition(of: Node) -> Cond | None:
    """The condition on the point that a truth value is, if integers decide it."""
    match of.op:
        case Const(values):
            return ALWAYS if values[0] else NEVER
        case Map("not"):
            inner = condition(of.args[0])
            return None if inner is None else negation(inner)
        case Map(("and" | "or") as fn):
            parts = [c for a in of.args if (c := condition(a)) is not None]
            joined = every if fn == "and" else some
            return joined(*parts) if len(parts) == len(of.args) else None
        case Map(fn) if fn in _COMPARED:
            pair = _compared(*of.args)
            return None if pair is None else _COMPARED[fn](*pair)
        case _:
            return None


_COMPARED: dict[str, Callable[[Expr, Expr], Cond]] = {
    "ge": at_least,
    "le": lambda a, b: at_least(b, a),
    "gt": lambda a, b: at_least(a, b + 1),
    "lt": lambda a, b: at_least(b, a + 1),
    "eq": equal,
    "ne": lambda a, b: negation(equal(a, b)),
}


def _compared(a: Node, b: Node) -> tuple[Expr, Expr] | None:
    """What two integers are, or an integer as a float and a number that floats hold exactly.

    Rounding keeps the order, so an integer as a float is on the same side of such a number.
    """
    pair = [_rounded(x) if _is_number(y) else number(x) for x, y in ((a, b), (b, a))]
    left, right = pair
    return None if left is None or right is None else (left, right)


def _is_number(of: Node) -> bool:
    return _literal(of) is not None


def _literal(of: Node) -> int | None:
    """The integer that a number is."""
    if not isinstance(of.op, Const) or of.dtype not in ("int32", "float32", "float64"):
        return None
    (value, *_) = of.op.values
    is_whole = abs(value) <= _EXACT and value == int(value)
    return int(value) if is_whole else None


def _rounded(of: Node) -> Expr | None:
    """An integer, or what it was before it became a float."""
    if (literal := _literal(of)) is not None:
        return expr(literal)
    match of.op:
        case Map("cast") if of.dtype in ("float32", "float64"):
            return number(of.args[0])
        case _:
            return number(of)


def ranges(cond: Cond, row: Row, dims: Sequence[Dim]) -> tuple[Slice, ...]:
    """The positions of an axis where a condition holds, as ranges in order; () if they are none.

    isl proves for all extents that they are: inside the axis, apart, and nothing else.
    """
    place, size = row.place, row.node.shape[row.axis]
    points = domain_set((*dims, place), {place: size})
    kept = points.where(cond)
    if kept.is_empty() or kept.is_equal(points):
        return ()
    pieces = kept.gist(points).pieces()
    found = [_range(piece, place, size) for piece in pieces[:_MOST]]
    parts = sorted((p for p in found if p is not None), key=str)
    if len(pieces) > 2 or len(parts) < len(pieces):
        return ()
    for ordered in (parts, parts[::-1]):
        if _are(ordered, kept, points, place):
            return tuple(ordered)
    return ()


def _range(piece: Cond, place: Dim, size: Expr) -> Slice | None:
    """The range that a conjunction of bounds gives."""
    lows, highs = [expr(0)], [size]
    for part in piece.of if isinstance(piece, Every) else (piece,):
        if not isinstance(part, Compare):
            return None
        slope = dict(part.of.terms).get(place, 0)
        rest = part.of - expr(place) * slope
        if place in rest.dims:
            return None
        for sign in (1,) if part.kind == "ge" else (1, -1):
            if slope * sign > 0:  # slope * place + rest >= 0
                lows.append(-floordiv(rest * sign, slope * sign))
            elif slope * sign < 0:
                highs.append(floordiv(rest * sign, -slope * sign) + 1)
    low, high = greatest(lows), smallest(highs)
    if is_never_negative(high - low):
        return Slice(low, high)
    if high == size:
        return Slice(minimum(low, size), size)
    return Slice(low, maximum(high, low if low != expr(0) else 0))


def _are(parts: Sequence[Slice], kept: Set, points: Set, place: Dim) -> bool:
    """Whether ranges lie in order inside an axis, and hold what is kept."""
    held = some(*(every(at_least(place, p.lo), at_least(p.hi - 1, place)) for p in parts))
    edges = [e for p in parts for e in (p.lo, p.hi)]
    order = every(*(at_least(b, a) for a, b in zip(edges, edges[1:], strict=False)))
    inside = every(at_least(edges[0], 0), at_least(place.extent, edges[-1]), order)
    around = points.onto(tuple(d for d in points.dims if d != place)).onto(points.dims)
    return points.where(held).is_equal(kept) and around.is_subset(
        condition_set(points.dims, inside)
    )
