"""How far a term reads from its point: one interval per dimension and recurrence it contains."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from ostinato.pdg.bounds import is_never_negative
from ostinato.pdg.index import Dim, Expr, Index, Slice, expr
from ostinato.pdg.node import Linear, Node, Pdg, Read, Rec, Scan, postorder


@dataclass(frozen=True, slots=True)
class Interval:
    """The distances from a point to the indices read there; negative is the past."""

    lo: float
    hi: float

    def __add__(self, other: Interval) -> Interval:
        return Interval(self.lo + other.lo, self.hi + other.hi)

    def hull(self, other: Interval) -> Interval:
        return Interval(min(self.lo, other.lo), max(self.hi, other.hi))


HERE = Interval(0, 0)
PAST = Interval(-math.inf, 0)
FUTURE = Interval(0, math.inf)
ANYWHERE = Interval(-math.inf, math.inf)
MOST_READS = 12  # more distinct distances of one recurrence are kept as their hull


def _greatest(gap: Expr) -> float:
    """An upper bound of an expression over the box: its constant, -1, 0, or infinity."""
    if gap.is_const:
        return gap.const
    bounds = (bound for bound in (-1, 0) if is_never_negative(bound - gap))
    return next(bounds, math.inf)


def distance(index: Index, dim: Dim) -> Interval:
    """The interval of ``index - dim`` over all points of the box."""
    if isinstance(index, Slice):
        first, last = index.lo - expr(dim), index.hi - 1 - expr(dim)
        return Interval(-_greatest(-first), _greatest(last))
    gap = index - expr(dim)
    return Interval(-_greatest(-gap), _greatest(gap))


@dataclass(frozen=True, slots=True)
class Reach:
    """A recurrence that a term contains, and the distance it is read at along each dimension."""

    rec: str
    along: tuple[tuple[Dim, Interval], ...]

    def moved(self, by: Mapping[Dim, Interval]) -> Reach:
        """The reach of the term read at other points."""
        return Reach(self.rec, tuple((d, iv + by.get(d, HERE)) for d, iv in self.along))


Reaches = frozenset[Reach]


def _shifts(node: Node) -> dict[Dim, Interval]:
    match node.op:
        case Read(at):
            return {dim: distance(index, dim) for dim, index in at}
        case Scan(_, dim):
            return {dim: PAST}
        case Linear(dim, reverse):
            return {dim: FUTURE if reverse else PAST}
        case _:
            return {}


def _bounded(reaches: Iterable[Reach]) -> Reaches:
    by_rec: dict[str, list[Reach]] = {}
    for reach in dict.fromkeys(reaches):
        by_rec.setdefault(reach.rec, []).append(reach)
    out: list[Reach] = []
    for rec, found in by_rec.items():
        if len(found) <= MOST_READS:
            out.extend(found)
            continue
        hull = dict(found[0].along)
        for reach in found[1:]:
            hull = {d: hull[d].hull(iv) for d, iv in reach.along}
        out.append(Reach(rec, tuple(hull.items())))
    return frozenset(out)


def reaches(pdg: Pdg) -> dict[Node, Reaches]:
    """For every node of a program, the recurrences it contains and how far they are read."""
    found: dict[Node, Reaches] = {}
    for node in postorder(pdg.roots()):
        if isinstance(node.op, Rec):
            at_point = tuple((d, HERE) for d in node.domain)
            found[node] = frozenset({Reach(node.op.name, at_point)})
            continue
        shifts = _shifts(node)
        below = (reach for arg in node.args for reach in found[arg])
        found[node] = _bounded(r.moved(shifts) for r in below) if shifts else _bounded(below)
    return found
