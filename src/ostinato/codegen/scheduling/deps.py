"""Dependences: which points of a producer a point of a consumer reads, as distances per dim.

Most reads are shifts by a constant, whose distances follow from the index expression alone; isl
answers for the others. Both forms restrict to equal values of a dim, which is what scheduling asks
for when it places producer and consumer in one loop.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING

from ostinato.codegen.ir.extents import Spans, stored_points
from ostinato.codegen.ir.system import Axis, Load, Statement
from ostinato.codegen.ir.tree import Loop
from ostinato.codegen.ir.values import guarded_loads
from ostinato.pdg.condition import Cond
from ostinato.pdg.index import Dim, Expr, Extremum, FloorDiv, Mod, expr
from ostinato.pdg.intervals import is_quasi_affine

if TYPE_CHECKING:
    from ostinato.pdg.isl import Relation

Gap = tuple[int | None, int | None]  # least and greatest consumer - producer; None: unbounded
HERE: Gap = (0, 0)
ANY: Gap = (None, None)


@dataclass(frozen=True)
class Unit:
    """Statements that one leaf computes together: a statement and the epilogues that join it."""

    main: Statement
    epilogues: tuple[Statement, ...] = ()

    @property
    def name(self) -> str:
        return self.main.name

    @property
    def dims(self) -> tuple[Dim, ...]:
        return self.main.dims

    @property
    def statements(self) -> tuple[Statement, ...]:
        return (self.main, *self.epilogues)


@dataclass(frozen=True)
class Box:
    """The ranges of every index: loop dims, and the axes of a consumer."""

    spans: Spans
    axes: tuple[Axis, ...]

    @cached_property
    def last(self) -> dict[Dim, Expr]:
        """The greatest value of every index, over extents and other indices."""
        out = {d: stored_points(s.hi) - 1 for d, s in self.spans.items()}
        return out | {a.index: _top(a) - 1 for a in self.axes}

    @cached_property
    def mentioned(self) -> frozenset[Dim]:
        """The indices that ranges of others mention."""
        return frozenset(d for last in self.last.values() for d in last.dims)

    def extreme(self, e: Expr, upper: bool) -> Expr | None:
        """The extreme of an expression over the box; indices whose range mentions others first."""
        while True:
            dims = [a for a, _ in e.terms if isinstance(a, Dim)]
            if not dims:
                return None if e.dims else e
            free = [d for d in dims if d not in self.mentioned] or dims
            chosen = next((d for d in free if self.last[d].dims), free[0])
            k = dict(e.terms)[chosen]
            at = self.last[chosen] if upper == (k > 0) else expr(0)
            e = e.at({chosen: at})


def _top(axis: Axis) -> Expr:
    compound = any(isinstance(a, FloorDiv | Mod | Extremum) for a, _ in axis.size.terms)
    return axis.pad if compound else axis.size


def _least(e: Expr | None) -> int | None:
    """A lower bound on an expression of extents, which are at least 1."""
    if e is None or any(k < 0 for _, k in e.terms):
        return None
    return e.const + sum(k for _, k in e.terms)


def quick_gap(dim: Dim, index: Expr, box: Box) -> Gap | None:
    """The range of ``dim - index``; None if the expression needs isl."""
    gap = expr(dim) - index
    if gap.is_const:
        return gap.const, gap.const
    if any(not isinstance(a, Dim) and Expr(((a, 1),), 0).dims for a, _ in gap.terms):
        return None
    low, high = box.extreme(gap, False), box.extreme(gap, True)
    up = _least(None if high is None else -high)
    return _least(low), None if up is None else -up


@dataclass(frozen=True)
class Dep:
    """``consumer`` reads ``load`` of ``producer`` (units), under ``cond`` on its indices.

    ``gaps`` holds the distances of the dims that both units run over and that are known without
    isl; ``fixed`` the dims already restricted to equal values, the last one a part of ``wider``.
    """

    consumer: Unit
    producer: Unit
    reader: Statement
    load: Load
    cond: Cond
    spans: Spans
    gaps: dict[Dim, Gap]
    is_quick: bool
    fixed: tuple[Dim, ...] = ()
    memo: dict[Dim, Gap] = field(default_factory=dict[Dim, Gap], compare=False)
    wider: Dep | None = field(default=None, compare=False)

    @property
    def tensor(self) -> str:
        return self.load.tensor

    @property
    def source(self) -> Statement:
        """The statement that is read."""
        return next(s for s in self.producer.statements if s.name == self.tensor)

    def gap(self, dim: Dim) -> Gap:
        """The least and greatest of consumer minus producer along a dim they share."""
        known = self.gaps.get(dim)
        if known is not None:
            return known
        if dim not in self.consumer.dims or dim not in self.producer.dims:
            return ANY
        if dim not in self.memo:
            lo, hi = self.relation.distance(dim)
            self.memo[dim] = (lo, hi)
        return self.memo[dim]

    def turns(self, loop: Loop) -> Gap:
        """The gap along a loop, in the order of its turns."""
        lo, hi = self.gap(loop.dim)
        if not loop.reverse:
            return lo, hi
        return None if hi is None else -hi, None if lo is None else -lo

    def at_same(self, dim: Dim) -> Dep | None:
        """The part of the dependence between equal values of a dim; None if there is none."""
        lo, hi = self.gap(dim)
        if (lo is not None and lo > 0) or (hi is not None and hi < 0):
            return None
        if self.is_quick and (lo, hi) == HERE:
            return self
        if not self.is_quick and (dim not in self.consumer.dims or dim not in self.producer.dims):
            return self
        gaps = {**self.gaps, dim: HERE}
        out = replace(self, fixed=(*self.fixed, dim), gaps=gaps, memo={}, wider=self)
        return None if not self.is_quick and out.relation.is_empty() else out

    def exact(self) -> Dep:
        """The same dependence with every distance asked of isl, conditions included."""
        here = {d: HERE for d in self.fixed}
        return replace(self, gaps=here, is_quick=False, memo={})

    @cached_property
    def relation(self) -> Relation:
        """Consumer points to producer points, within both boxes and the condition."""
        if self.wider is not None:
            return self.wider.relation.same(self.fixed[-1])
        return point_relation(self.consumer.main, self.producer.main, self, self.spans)


def point_relation(consumer: Statement, producer: Statement, dep: Dep, spans: Spans) -> Relation:
    """All pairs of points of a dependence; axes of the reader are existential."""
    from ostinato.pdg import isl

    at = dict(zip(producer.result_dims, dep.load.dims, strict=True))
    reduced = [d for d in producer.dims if d in producer.reduced]
    free = list(zip(reduced, isl.anonymous(len(reduced), "free"), strict=True))
    renamed = {d: expr(x) for d, x in free}
    exprs = [at[d] if d in at else renamed[d] for d in producer.dims]
    unknown = [d for d in at if not is_quasi_affine(at[d])]
    anywhere = list(zip(unknown, isl.anonymous(len(unknown), "anywhere"), strict=True))
    free += anywhere  # isl cannot follow a product of dims: any point may be meant
    renamed |= {d: expr(x) for d, x in anywhere}
    exprs = [renamed.get(d, e) for d, e in zip(producer.dims, exprs, strict=True)]
    within = [(x, spans[d].hi.at({**at, **renamed})) for d, x in free]
    within += _existential(dep)
    raw = isl.relation(consumer.dims, producer.dims, exprs, dep.cond, within)
    sizes = {d: spans[d].hi for d in (*consumer.dims, *producer.dims)}
    raw = raw.intersect_in(isl.domain_set(consumer.dims, sizes))
    return raw.intersect_out(isl.domain_set(producer.dims, sizes)).assume({})


def _existential(dep: Dep) -> list[tuple[Dim, Expr]]:
    """The axes and computed indices that are mentioned, by the load too, or that may be empty."""
    axes = indices_of(dep.reader, dep.load)
    sizes = {a.index: a.size for a in axes}
    found = {d for e in dep.load.dims for d in e.dims}
    found |= may_be_empty(dep.reader, Box({d: dep.spans[d] for d in dep.consumer.dims}, axes))
    found |= dep.cond.dims
    open_ = [d for d in found if d in sizes]
    seen = set(open_)
    while open_:
        more = {d for d in sizes[open_.pop()].dims if d in sizes} - seen
        seen |= more
        open_ += more
    return [(a.index, a.size) for a in axes if a.index in seen]


def may_be_empty(reader: Statement, box: Box) -> set[Dim]:
    """The axes of a reader without an element at some points, which then read nothing."""
    ranged = [a for a in reader.axes if a.index not in reader.lanes and a.size.dims]
    return {a.index for a in ranged if (_least(box.extreme(a.size, False)) or 0) < 1}


def indices_of(reader: Statement, load: Load) -> tuple[Axis, ...]:
    """The indices besides dims that a load may mention: the reader's axes and computed ones."""
    return (*reader.axes, *(pick.axis for pick in load.picks))


def dependences(units: list[Unit], spans: Spans) -> list[Dep]:
    """All reads between units; reads of inputs and of a unit's own chain are none."""
    owner = {s.name: u for u in units for s in u.statements}
    out: list[Dep] = []
    for unit in units:
        own = {s.name for s in unit.statements}
        for statement in unit.statements:
            for load, cond in _distinct(statement):
                producer = owner.get(load.tensor)
                if producer is None or (statement is not unit.main and load.tensor in own):
                    continue
                out.append(_dependence(unit, producer, statement, (load, cond), spans))
    return [d for d in out if d.is_quick or not d.relation.is_empty()]


def idle_loads(units: Sequence[Unit], deps: Sequence[Dep]) -> frozenset[str]:
    """The tensors with a load that no point makes, so that it is no dependence.

    Code is emitted for it all the same: ``f(x)[t : minimum(t, T)]`` is a range that is never seen
    to be empty before isl is asked.
    """
    made = {(d.reader.name, _place(d.load)) for d in deps}
    out: set[str] = set()
    for unit in units:
        own = {s.name for s in unit.statements}
        for statement in unit.statements:
            found = {_place(load) for load, _ in guarded_loads(statement)}
            idle = {place[0] for place in found if (statement.name, place) not in made}
            out |= idle if statement is unit.main else idle - own
    return frozenset(out)


_Place = tuple[str, tuple[Expr, ...], tuple[Expr, ...]]


def _place(load: Load) -> _Place:
    return load.tensor, load.dims, load.axes


def _distinct(statement: Statement) -> Iterator[tuple[Load, Cond]]:
    """Every load once per condition."""
    seen: set[tuple[_Place, Cond]] = set()
    for load, cond in guarded_loads(statement):
        key = (_place(load), cond)
        if key not in seen:
            seen.add(key)
            yield load, cond


def _dependence(
    consumer: Unit, producer: Unit, reader: Statement, read: tuple[Load, Cond], spans: Spans
) -> Dep:
    load, cond = read
    box = Box({d: spans[d] for d in consumer.dims}, indices_of(reader, load))
    at = dict(zip(producer.main.result_dims, load.dims, strict=True))
    picked = {pick.axis.index for pick in load.picks}
    gaps: dict[Dim, Gap] = {}
    mentioned = {d for e in load.dims for d in e.dims}
    is_quick = may_be_empty(reader, box) <= mentioned
    for dim in producer.dims:
        if dim not in consumer.dims:
            continue
        gap = quick_gap(dim, at[dim], box) if dim in at else ANY
        if gap is None or (None in gap and dim in at and at[dim].dims & picked):
            is_quick = False  # windows end at the point: only isl knows how far they reach
        else:
            gaps[dim] = gap
    if not is_quick:
        gaps = {d: g for d, g in gaps.items() if g == HERE}
    return Dep(consumer, producer, reader, load, cond, spans, gaps, is_quick)
