"""Relations between points of two tuples of dimensions: dependences, schedules, their distances."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from functools import lru_cache

import islpy

from ostinato.pdg.condition import ALWAYS, Cond, equal, every
from ostinato.pdg.index import Dim, Expr, ExprLike, expr
from ostinato.pdg.isl.convert import CONTEXT, IN, OUT, SET, Dims, frame_for, integer, places_of
from ostinato.pdg.isl.sets import Interval, LowerBounds, Sample, Set, box_cond, condition_set, least


@dataclass(frozen=True, eq=False, slots=True)
class Relation:
    """Pairs of a point of ``ins`` and a point of ``outs``, for all values of the extents."""

    ins: Dims
    outs: Dims
    raw: islpy.Map

    @property
    def key(self) -> Hashable:
        """What relations share that hold the same pairs, whatever their dims are called."""
        return self.raw

    def _with(self, raw: islpy.Map) -> Relation:
        return Relation(self.ins, self.outs, raw)

    def _aligned(self, other: Relation) -> islpy.Map:
        same = (len(self.ins), len(self.outs)) == (len(other.ins), len(other.outs))
        assert same, f"relations {self.ins}->{self.outs} and {other.ins}->{other.outs}"
        return other.raw

    def __and__(self, other: Relation) -> Relation:
        return self._with(self.raw.intersect(self._aligned(other)))

    def __or__(self, other: Relation) -> Relation:
        return self._with(self.raw.union(self._aligned(other)).coalesce())

    def __sub__(self, other: Relation) -> Relation:
        return self._with(self.raw.subtract(self._aligned(other)))

    def is_empty(self) -> bool:
        return self.raw.is_empty()

    def is_subset(self, other: Relation) -> bool:
        return self.raw.is_subset(self._aligned(other))

    def domain(self) -> Set:
        """The points that have a partner."""
        return Set(self.ins, self.raw.domain())

    def reverse(self) -> Relation:
        return Relation(self.outs, self.ins, self.raw.reverse())

    def intersect_in(self, points: Set) -> Relation:
        """Pairs whose first point lies in a set over any of the ``ins``."""
        return self._with(self.raw.intersect_domain(points.onto(self.ins).raw))

    def intersect_out(self, points: Set) -> Relation:
        """Pairs whose second point lies in a set over any of the ``outs``."""
        return self._with(self.raw.intersect_range(points.onto(self.outs).raw))

    def assume(self, bounds: LowerBounds | None = None) -> Relation:
        """The relation for extents from their lower bounds on."""
        for_extents = least(islpy.Set.universe(self.raw.get_space().params()), bounds or {})
        return self._with(self.raw.intersect_params(for_extents))

    def apply(self, points: Set) -> Set:
        """The partners of a set of points."""
        return Set(self.outs, points.onto(self.ins).raw.apply(self.raw))

    def then(self, after: Relation) -> Relation:
        """Compose with a relation that follows, whose ``ins`` match these ``outs`` in order."""
        assert len(self.outs) == len(after.ins), f"{self.outs} followed by {after.ins}"
        return Relation(self.ins, after.outs, self.raw.apply_range(after.raw))

    def map_in(self, by: Relation) -> Relation:
        """Replace each first point by its partners (a schedule, for instance)."""
        assert len(self.ins) == len(by.ins), f"{self.ins} mapped by {by.ins}"
        return Relation(by.outs, self.outs, self.raw.apply_domain(by.raw))

    def distance(self, din: Dim, dout: Dim | None = None) -> Interval:
        """The values of ``in[din] - out[dout]``; ``(0, 0)`` for an empty relation."""
        a, b = places_of(self.ins)[din], places_of(self.outs)[dout or din]
        pair = _pair(self.raw, a, b)
        if pair.is_empty():
            return Interval(0, 0)
        gaps = pair.deltas()  # out - in
        lo, hi = integer(gaps.dim_min_val(0)), integer(gaps.dim_max_val(0))
        return Interval(None if hi is None else -hi, None if lo is None else -lo)

    def same(self, din: Dim, dout: Dim | None = None) -> Relation:
        """Pairs that agree in a dimension."""
        a, b = places_of(self.ins)[din], places_of(self.outs)[dout or din]
        return self._with(self.raw.equate(IN, a, OUT, b))

    def first(self, bounds: LowerBounds | None = None) -> tuple[Sample, Sample] | None:
        """A pair to show: smallest extents, then lexicographically first."""
        fresh = (*anonymous(len(self.ins), "in"), *anonymous(len(self.outs), "out"))
        found = Set(fresh, self.raw.wrap().flatten()).first(bounds)
        if found is None:
            return None
        values, n = list(found.point.values()), len(self.ins)
        left = Sample(dict(zip(self.ins, values[:n], strict=True)), found.extents)
        return left, Sample(dict(zip(self.outs, values[n:], strict=True)), found.extents)


def _pair(raw: islpy.Map, a: int, b: int) -> islpy.Map:
    """The relation between one coordinate of each side."""
    for kind, keep in ((IN, a), (OUT, b)):
        raw = raw.project_out(kind, keep + 1, raw.dim(kind) - keep - 1).project_out(kind, 0, keep)
    return raw


@lru_cache(maxsize=256)
def anonymous(count: int, name: str = "x") -> Dims:
    """Dims for tuples whose places have no name of their own, such as time vectors."""
    return tuple(Dim(f"{name}{k}") for k in range(count))


def relation(
    ins: Sequence[Dim],
    outs: Sequence[Dim],
    exprs: Sequence[ExprLike],
    cond: Cond = ALWAYS,
    within: Sequence[tuple[Dim, ExprLike]] = (),
) -> Relation:
    """``{ [ins] -> [outs] : outs = exprs, cond }`` for some ``0 <= w < size`` of each ``within``.

    Expressions and condition mention ``ins``, the dims of ``within``, and extents.

    >>> t = Dim("t")
    >>> relation((t,), (t,), (t + expr(-1),)).distance(t)
    Interval(lo=1, hi=1)
    """
    found = _copies(tuple(ins), list(map(expr, exprs)))
    if found is not None and cond == ALWAYS and not within:
        return Relation(tuple(ins), tuple(outs), found)
    results = anonymous(len(outs), "out")
    inner = tuple(w for w, _ in within)
    limits = [box_cond((w,), {w: size}) for w, size in within]
    defined = [equal(r, e) for r, e in zip(results, exprs, strict=True)]
    raw = condition_set((*ins, *results, *inner), every(cond, *limits, *defined)).raw
    raw = raw.project_out(SET, len(ins) + len(outs), len(inner))
    paired = islpy.Map.from_domain(raw).move_dims(OUT, 0, IN, len(ins), len(outs))
    return Relation(tuple(ins), tuple(outs), paired)


def pairs(ins: Sequence[Dim], outs: Sequence[Dim], cond: Cond) -> Relation:
    """``{ [ins] -> [outs] : cond }``; the condition mentions both, which share no dim.

    >>> s, t = Dim("s"), Dim("t")
    >>> pairs((s,), (t,), equal(t, s + expr(2))).distance(s, t)
    Interval(lo=-2, hi=-2)
    """
    raw = islpy.Map.from_domain(condition_set((*ins, *outs), cond).raw)
    return Relation(tuple(ins), tuple(outs), raw.move_dims(OUT, 0, IN, len(ins), len(outs)))


def _copies(ins: Dims, exprs: Sequence[Expr]) -> islpy.Map | None:
    """The relation where every result is a number or one of ``ins`` up to its sign, else None.

    Schedules are such relations; as constraints they would take ten times longer.
    """
    places = places_of(ins)
    raw = islpy.Map.universe(islpy.Space.alloc(CONTEXT, 0, len(ins), len(exprs)))
    for k, e in enumerate(exprs):
        match e.terms:
            case ():
                raw = raw.fix_val(OUT, k, e.const)
            case ((Dim() as dim, 1),) if e.const == 0 and dim in places:
                raw = raw.equate(IN, places[dim], OUT, k)
            case ((Dim() as dim, -1),) if e.const == 0 and dim in places:
                raw = raw.oppose(IN, places[dim], OUT, k)
            case _:
                return None
    return raw


def lex_later(dims: int | Sequence[Dim]) -> Relation:
    """``{ [a] -> [b] : a comes after b in lexicographic order }``."""
    names = anonymous(dims) if isinstance(dims, int) else tuple(dims)
    return Relation(names, names, islpy.Map.lex_gt(frame_for(names, ()).space))
