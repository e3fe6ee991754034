"""Long axes become dimensions, so that what is computed along them exists for one tile at a time.

A sum over a million rows of an array needs the intermediate values of a few rows only: partial sums
of tiles are added up in a fixed order. The axes of different tensors that are one axis of the
program, because each is read exactly where the other runs, form a family; a family becomes a
dimension if it is long, if all of its tensors are read row by row, and if the intermediate values
take more memory than the partial sums will.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from ostinato.codegen.fresh import fresh
from ostinato.codegen.system import Axis, Load, Statement, System, loads
from ostinato.codegen.tile import WORKERS, balanced_width
from ostinato.codegen.values import Rewrite
from ostinato.pdg.index import Dim, dims_of, expr

LONG = 4096  # rows: fewer are no work for tiles
WORTH = 1 << 20  # bytes of intermediate values: less stays in the caches as it is


class _Place(NamedTuple):
    """An axis of a statement, reduced or not, or an axis of what it computes."""

    statement: str
    along: Dim


@dataclass
class _Families:
    """Axes that are the same, joined one pair after the other; those that are read otherwise."""

    leader: dict[_Place, _Place] = field(default_factory=dict[_Place, _Place])
    fixed: set[_Place] = field(default_factory=set[_Place])

    def find(self, place: _Place) -> _Place:
        at = place
        while (up := self.leader.get(at, at)) != at:
            at = up
        self.leader[place] = at
        return at

    def join(self, a: _Place, b: _Place) -> None:
        self.leader[self.find(a)] = self.find(b)


def long_rows(system: System) -> System:
    """Return the system with a dimension instead of every family of long axes that is worth it."""
    found = _families(system.statements)
    members: dict[_Place, list[_Place]] = defaultdict(list)
    for name, s in system.statements.items():
        for axis in s.axes:
            place = _Place(name, axis.index)
            members[found.find(place)].append(place)
    fixed = {found.find(place) for place in found.fixed}
    ends = {*system.inputs.values(), *system.outputs.values()}
    taken = {d.name for s in system.statements.values() for d in s.dims}
    for leader, family in members.items():
        if leader not in fixed and is_worthwhile(family, system.statements, ends):
            name = fresh("row", taken)
            taken.add(name)
            system = _with_dim(system, family, name)
    return system


def _families(statements: Mapping[str, Statement]) -> _Families:
    found = _Families()
    for name, s in statements.items():
        own = {a.index for a in s.axes}
        found.fixed |= {_Place(name, d) for d in _whole(s)}
        for _, value in s.clauses:
            for load in loads(value):
                _read(found, name, own, load, statements[load.tensor])
    return found


def _whole(s: Statement) -> Iterator[Dim]:
    """The axes that a statement needs all positions of at once, or whose size varies."""
    for axis in s.axes:
        needs_all = axis.index in s.reduced and (s.kind == "along" or s.fold.startswith("arg"))
        is_constant = axis.size.is_const and axis.size == axis.pad
        if needs_all or axis.index is s.along or s.kind == "host" or not is_constant:
            yield axis.index


def _read(found: _Families, name: str, own: Collection[Dim], load: Load, source: Statement) -> None:
    """Join the axes that a load reads at the same place; fix those that it reads otherwise."""
    mentioned = [d for e in (*load.dims, *(p.axis.size for p in load.picks)) for d in dims_of(e)]
    for axis, at in zip(source.result_axes, load.axes, strict=True):
        here, index = _Place(source.name, axis.index), at.as_dim()
        if index is not None and index in own:
            found.join(here, _Place(name, index))
        else:
            found.fixed.add(here)
            mentioned += dims_of(at)
    found.fixed |= {_Place(name, d) for d in mentioned if d in own}


def is_worthwhile(
    family: Sequence[_Place], statements: Mapping[str, Statement], ends: Collection[str]
) -> bool:
    """Whether the family is long and what is computed along it larger than tiles and their sums.

    The array of an argument or a result stays as it lies: the axis is its first.
    """
    names = [place.statement for place in family]
    rows = _axis(statements[names[0]], family[0].along).size.const
    if rows < LONG or len(set(names)) < len(names):
        return False
    line = sums = 0
    for name, index in family:
        s = statements[name]
        others = math.prod(
            a.pad.const for a in s.result_axes if a.pad.is_const and a.index != index
        )
        if index in s.reduced:
            sums += others
        elif name not in ends:
            line += others
        elif s.axes[0].index is not index:
            return False
    width = balanced_width(rows, line, sums, WORKERS)
    tiles = WORKERS * width * line + sums * rows // width
    return 4 * line * rows >= WORTH and line * rows > 2 * tiles


def _axis(s: Statement, index: Dim) -> Axis:
    return next(a for a in s.axes if a.index is index)


def _with_dim(system: System, family: Sequence[_Place], name: str) -> System:
    """Turn one axis of every statement of a family into a dimension that may run in tiles."""
    first = family[0]
    size = _axis(system.statements[first.statement], first.along).size
    dim, at = Dim(name, size=size), dict(family)

    def moved(load: Load) -> Load:
        if load.tensor not in at:
            return load
        axes = [a.index for a in system.statements[load.tensor].result_axes]
        if at[load.tensor] not in axes:
            return load
        place = axes.index(at[load.tensor])
        others = (*load.axes[:place], *load.axes[place + 1 :])
        return replace(load, dims=(*load.dims, load.axes[place]), axes=others)

    def changed(s: Statement) -> Statement:
        index = at.get(s.name)
        if index is None:
            return Rewrite({}, moved).clauses(s)
        s = Rewrite({index: expr(dim)}, moved).clauses(s)
        reduced = {dim if d is index else d for d in s.reduced}
        return replace(
            s,
            dims=(*s.dims, dim),
            axes=tuple(a for a in s.axes if a.index is not index),
            lanes=s.lanes | {dim},
            reduced=frozenset(reduced),
        )

    return replace(system, statements={n: changed(s) for n, s in system.statements.items()})
