"""How far a term reads from its point: a range of indices per recurrence and dimension."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from ostinato.pdg.bounds import is_never_negative
from ostinato.pdg.index import Dim, Expr, Extent, Index, Slice, expr
from ostinato.pdg.node import Linear, Node, Op, Pdg, Read, Rec, Scan, postorder


@dataclass(frozen=True, slots=True)
class Interval:
    """The distances from a point to the indices read there; negative is the past."""

    lo: float
    hi: float


HERE = Interval(0, 0)
PAST = Interval(-math.inf, 0)
FUTURE = Interval(0, math.inf)
MOST_READS = 64  # more distinct reads in one term count as reads of ranges


@dataclass(frozen=True, slots=True)
class Range:
    """The indices ``lo .. hi``, both included; None has no bound."""

    lo: Expr | None
    hi: Expr | None

    @property
    def point(self) -> Expr | None:
        """The only index, if there is one."""
        return self.lo if self.lo == self.hi else None


def distance(index: Index, dim: Dim) -> Interval:
    """The interval of ``index - dim`` over all points of the box."""
    return gap(_range(index), dim, {})


def gap(indices: Range, dim: Dim, least: Mapping[Dim, int]) -> Interval:
    """The distances of a range from ``dim``, where dimensions start at ``least`` instead of 0."""
    later: dict[Dim | Extent, Expr] = {d: expr(d) + k for d, k in least.items()}
    lo = None if indices.lo is None else (indices.lo - expr(dim)).at(later)
    hi = None if indices.hi is None else (indices.hi - expr(dim)).at(later)
    return Interval(
        -math.inf if lo is None else -_greatest(-lo), math.inf if hi is None else _greatest(hi)
    )


def _greatest(e: Expr) -> float:
    """An upper bound of an expression over the box: its constant, -1, 0, or infinity."""
    if e.is_const:
        return e.const
    bounds = (bound for bound in (-1, 0) if is_never_negative(bound - e))
    return next(bounds, math.inf)


def _range(index: Index) -> Range:
    if isinstance(index, Slice):
        return Range(index.lo, index.hi - 1)
    return Range(index, index)


Along = tuple[tuple[Dim, Range], ...]  # the indices read along the dimensions of a recurrence
Reaches = Mapping[Along, int]  # which recurrences are read there: bit k for the k-th equation


def _moved(along: Along, by: Mapping[Dim, Range]) -> Along:
    """The indices that a read at other points sees."""
    return tuple((d, _through(indices, by)) for d, indices in along)


def _through(indices: Range, by: Mapping[Dim, Range]) -> Range:
    """A range whose bounds are seen through reads of the dimensions they mention."""
    lo, hi = _bound(indices.lo, by, -1), _bound(indices.hi, by, 1)
    return Range(lo, hi)


def _bound(e: Expr | None, by: Mapping[Dim, Range], sign: int) -> Expr | None:
    """The least (-1) or greatest (1) value of a bound over the ranges of its dimensions."""
    points: dict[Dim | Extent, Expr] = {}
    for dim in () if e is None else e.dims:
        indices = by.get(dim)
        if indices is None:
            continue
        slope = _slope(e, dim)
        end = indices.point or (indices.hi if slope * sign > 0 else indices.lo)
        if end is None or (indices.point is None and slope == 0):
            return None
        points[dim] = end
    return None if e is None else e.at(points)


def _slope(e: Expr | None, dim: Dim) -> int:
    """The coefficient of a dimension that stands alone; 0 if it stands inside another form."""
    if e is None or dim in Expr(tuple(t for t in e.terms if t[0] != dim), 0).dims:
        return 0
    return next(k for atom, k in e.terms if atom == dim)


def _moves(node: Node) -> dict[Dim, Range]:
    match node.op:
        case Read(at):
            return {dim: _range(index) for dim, index in at}
        case Scan(_, dim, reverse) | Linear(dim, reverse):
            ends = (expr(dim), expr(dim.extent) - 1) if reverse else (expr(0), expr(dim))
            return {dim: Range(*ends)}
        case _:
            return {}


def _united(parts: Iterable[tuple[Along, int]]) -> Reaches:
    out: dict[Along, int] = {}
    for along, recs in parts:
        out[along] = out.get(along, 0) | recs
    wide = set[Dim]()
    while len(out) > MOST_READS:
        ranges: dict[Dim, set[Range]] = {}
        for d, indices in (pair for along in out for pair in along if pair[0] not in wide):
            ranges.setdefault(d, set()).add(indices)
        if not ranges:
            break
        wide.add(dim := max(ranges, key=lambda d: (len(ranges[d]), -d.serial)))
        out = _widened(out, dim)
    return out


def _widened(reads: Reaches, dim: Dim) -> dict[Along, int]:
    """The reads of what has the same dimensions at one range of a dimension, which holds all."""
    alike: dict[tuple[Dim, ...], list[Range]] = {}
    for along in reads:
        found = [indices for d, indices in along if d == dim]
        alike.setdefault(tuple(d for d, _ in along), []).extend(found)
    out: dict[Along, int] = {}
    hulls = {dims: _hull(ranges) for dims, ranges in alike.items()}
    for along, recs in reads.items():
        hull = hulls[tuple(d for d, _ in along)]
        wide = tuple((d, hull if d == dim else indices) for d, indices in along)
        out[wide] = out.get(wide, 0) | recs
    return out


def _hull(ranges: Sequence[Range]) -> Range:
    """The range from the least to the greatest of some indices, where that is known."""
    lows, highs = [r.lo for r in ranges], [r.hi for r in ranges]
    return Range(_extreme(lows, -1), _extreme(highs, 1))


def _extreme(bounds: Sequence[Expr | None], sign: int) -> Expr | None:
    """The least (-1) or greatest (1) of some bounds, if they differ by constants."""
    known = [bound for bound in bounds if bound is not None]
    away = [bound - known[0] for bound in known]
    if len(known) < len(bounds) or not all(gap.is_const for gap in away):
        return None
    return known[max(range(len(known)), key=lambda k: sign * away[k].const)]


def reaches(pdg: Pdg) -> dict[Node, Reaches]:
    """For every node of a program, the recurrences it contains and where they are read."""
    bit = {name: 1 << k for k, name in enumerate(pdg.equations)}
    found: dict[Node, Reaches] = {}
    seen: dict[tuple[Along, Op], Along] = {}
    for node in postorder(pdg.roots()):
        if isinstance(node.op, Rec):
            at_point = tuple((d, Range(expr(d), expr(d))) for d in node.domain)
            found[node] = {at_point: bit[node.op.name]}
            continue
        moves = _moves(node)
        below = [pair for arg in dict.fromkeys(node.args) for pair in found[arg].items()]
        for k, (along, recs) in enumerate(below) if moves else ():
            key = along, node.op
            if key not in seen:
                seen[key] = _moved(along, moves)
            below[k] = seen[key], recs
        others = [found[arg] for arg in node.args if found[arg]]
        is_passed_on = not moves and all(other is others[0] for other in others)
        found[node] = others[0] if is_passed_on and others else _united(below)
    return found


def contained(reach: Reaches) -> int:
    """All recurrences of a term."""
    out = 0
    for recs in reach.values():
        out |= recs
    return out
