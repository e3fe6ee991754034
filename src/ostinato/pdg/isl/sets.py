"""Integer sets over dimensions, for all values of the extents.

A `Set` holds points of a tuple of `Dim`s; extents are parameters, matched by name. Dims may stand
for time dimensions, spatial axes or loop counters alike. Objects are built through isl's API (a few
microseconds each), never from text.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple, TypeAlias

import islpy

from ostinato.pdg.condition import ALWAYS, Compare, Cond, Every, at_least, equal, every, some
from ostinato.pdg.index import Dim, ExprLike, Extent, expr
from ostinato.pdg.isl.convert import (
    CONTEXT,
    DIV,
    IN,
    OUT,
    PARAM,
    SET,
    Dims,
    conjunction,
    frame_of,
    integer,
    places_of,
    raw_set,
)

LowerBounds: TypeAlias = Mapping[str, int]  # extent name -> least value, 1 where missing


class Interval(NamedTuple):
    """The least and the greatest value, both included; ``None`` is unbounded."""

    lo: int | None
    hi: int | None


@dataclass(frozen=True, slots=True)
class Sample:
    """One point and the extents for which it is one."""

    point: dict[Dim, int]
    extents: dict[str, int]

    def __str__(self) -> str:
        point = ", ".join(f"{d}={v}" for d, v in self.point.items())
        extents = ", ".join(f"{e}={v}" for e, v in self.extents.items())
        return point + (f", with {extents}" if extents else "") if point else extents


def least(raw: islpy.Set, bounds: LowerBounds) -> islpy.Set:
    """The set with every extent it mentions at least at its lower bound."""
    for k in range(raw.dim(PARAM)):
        name = raw.get_dim_name(PARAM, k)
        assert name is not None, "an extent without a name"
        raw = raw.lower_bound_val(PARAM, k, bounds.get(name, 1))
    return raw


@dataclass(frozen=True, eq=False, slots=True)
class Set:
    """Points of ``dims``, for all values of the extents."""

    dims: Dims
    raw: islpy.Set

    def __and__(self, other: Set) -> Set:
        return Set(self.dims, self.raw.intersect(self._same_dims(other).raw))

    def __or__(self, other: Set) -> Set:
        return Set(self.dims, self.raw.union(self._same_dims(other).raw).coalesce())

    def __sub__(self, other: Set) -> Set:
        return Set(self.dims, self.raw.subtract(self._same_dims(other).raw))

    def __str__(self) -> str:
        return f"{{({', '.join(map(str, self.dims))}) : {self.cond()}}}"

    def _same_dims(self, other: Set) -> Set:
        assert self.dims == other.dims, f"sets over {self.dims} and {other.dims}"
        return other

    def is_empty(self) -> bool:
        return self.raw.is_empty()

    def is_subset(self, other: Set) -> bool:
        return self.raw.is_subset(self._same_dims(other).raw)

    def is_equal(self, other: Set) -> bool:
        return self.raw.is_equal(self._same_dims(other).raw)

    def where(self, cond: Cond) -> Set:
        """The points where a condition holds."""
        return self & condition_set(self.dims, cond)

    def assume(self, bounds: LowerBounds | None = None) -> Set:
        """The set for extents from their lower bounds on."""
        return Set(self.dims, least(self.raw, bounds or {}))

    def onto(self, dims: Sequence[Dim]) -> Set:
        """Projection and reordering; dims that are new may take every value."""
        target = tuple(dims)
        if target == self.dims:
            return self
        return Set(target, self.raw.apply(renaming(self.dims, target)))

    def bounds(self, dim: Dim) -> Interval:
        """The values of a dimension over all points and extents; ``(0, 0)`` if there are none."""
        if self.is_empty():
            return Interval(0, 0)
        k = places_of(self.dims)[dim]
        return Interval(integer(self.raw.dim_min_val(k)), integer(self.raw.dim_max_val(k)))

    def lexmin(self) -> Set:
        """The first point in the order of ``dims``, for each value of the extents."""
        return Set(self.dims, self.raw.lexmin())

    def first(self, bounds: LowerBounds | None = None) -> Sample | None:
        """A point to show: smallest extents, then first in the order of ``dims``."""
        raw = least(self.raw, bounds or {})
        if raw.is_empty():
            return None
        n = raw.dim(PARAM)
        names = [raw.get_dim_name(PARAM, k) or "" for k in range(n)]
        flat = raw.move_dims(SET, 0, PARAM, 0, n)
        try:
            point = flat.lexmin().sample_point()
        except islpy.Error:  # unbounded below: any point will do
            point = flat.sample_point()
        values = [integer(point.get_coordinate_val(SET, k)) or 0 for k in range(n + len(self.dims))]
        extents = dict(sorted(zip(names, values, strict=False)))
        return Sample(dict(zip(self.dims, values[n:], strict=True)), extents)

    def fix(self, values: Mapping[Dim | Extent, int]) -> Set:
        """The points at which dims and extents have the given values."""
        return self.where(every(*(equal(s, v) for s, v in values.items())))

    def points(self) -> list[tuple[int, ...]]:
        """All points in lexicographic order; every extent must be fixed and the set bounded."""
        found: list[tuple[int, ...]] = []

        def visit(point: islpy.Point) -> None:
            found.append(
                tuple(integer(point.get_coordinate_val(SET, k)) or 0 for k in range(len(self.dims)))
            )

        raw = self.raw.project_out(PARAM, 0, self.raw.dim(PARAM))
        raw.foreach_point(visit)
        return sorted(found)

    def gist(self, context: Set) -> Set:
        """A simpler set with the same points inside ``context``."""
        return Set(self.dims, self.raw.gist(self._same_dims(context).raw).coalesce())

    @property
    def size(self) -> int:
        """How many pieces it has; a remainder in one counts as 50, as it costs isl."""
        return sum(1 + 50 * basic.dim(DIV) for basic in self.raw.get_basic_sets())

    def roughly(self, most: int) -> Set:
        """A simple set around this one: remainders are dropped, and pieces beyond ``most``."""
        raw = self.raw.remove_divs().coalesce()
        if raw.n_basic_set() > most:
            raw = islpy.Set.from_basic_set(raw.simple_hull())
        return Set(self.dims, raw)

    def pieces(self) -> tuple[Cond, ...]:
        """Conjunctions whose union is the set."""
        raw = self.raw.coalesce().compute_divs()
        return tuple(conjunction(basic, self.dims) for basic in raw.get_basic_sets())

    def widened(self, grown: Set) -> Set:
        """The limits of this set that a grown one still respects; the others are dropped."""
        hull = conjunction(self.raw.coalesce().simple_hull(), self.dims)
        limits: list[Cond] = []
        for c in hull.of if isinstance(hull, Every) else (hull,):
            if isinstance(c, Compare) and c.kind == "eq":
                limits += [at_least(c.of, 0), at_least(-c.of, 0)]
            else:
                limits.append(c)
        kept = (c for c in limits if grown.is_subset(condition_set(self.dims, c)))
        return condition_set(self.dims, every(*kept))

    def cond(self) -> Cond:
        """The condition that holds exactly at the points of the set."""
        return some(*self.pieces())


@lru_cache(maxsize=4096)
def renaming(source: Dims, target: Dims) -> islpy.Map:
    """Points of ``source`` to all points of ``target`` that agree on the shared dims."""
    raw = islpy.Map.universe(islpy.Space.alloc(CONTEXT, 0, len(source), len(target)))
    places = places_of(target)
    for k, dim in enumerate(source):
        if dim in places:
            raw = raw.equate(IN, k, OUT, places[dim])
    return raw


def condition_set(dims: Sequence[Dim], cond: Cond) -> Set:
    """``{ [dims] : cond }``."""
    return _condition_set(tuple(dims), cond)


@lru_cache(maxsize=16384)
def _condition_set(dims: Dims, cond: Cond) -> Set:
    frame = frame_of(dims, cond)
    return Set(dims, raw_set(cond, frame))


def universe(dims: Sequence[Dim]) -> Set:
    """Every integer point of ``dims``."""
    return condition_set(dims, ALWAYS)


def box_cond(dims: Sequence[Dim], sizes: Mapping[Dim, ExprLike] | None = None) -> Cond:
    """``0 <= d < size`` for each dimension; its extent where ``sizes`` has no entry."""
    table = sizes or {}
    limits = [(at_least(d, 0), at_least(table.get(d, d.extent), d + expr(1))) for d in dims]
    return every(*(c for pair in limits for c in pair))


def domain_set(
    dims: Sequence[Dim], sizes: Mapping[Dim, ExprLike] | None = None, cond: Cond = ALWAYS
) -> Set:
    """``{ [dims] : 0 <= d < size, cond }``; sizes may mention extents and other dims.

    >>> t, k = Dim("t"), Dim("k")
    >>> suffix = domain_set((t, k), {k: t.extent - expr(t)})
    >>> suffix.fix({t.extent: 2}).points()
    [(0, 0), (0, 1), (1, 0)]
    """
    return condition_set(dims, every(box_cond(dims, sizes), cond))


def proves(cond: Cond, points: Set) -> bool:
    """Whether a condition holds at every point of a set, for all extents that may be."""
    return points.assume().is_subset(condition_set(points.dims, cond))
