"""Axes of different tensors that are one axis of the program, and how they become a dimension.

Each is read exactly where another one runs; together they form a family.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from ostinato.codegen.ir.system import Axis, Load, Statement, System
from ostinato.codegen.ir.values import Rewrite
from ostinato.pdg.functions import POSITIONS
from ostinato.pdg.index import Dim, expr


class Place(NamedTuple):
    """An axis of a statement, reduced or not, or an axis of what it computes."""

    statement: str
    along: Dim


@dataclass
class Families:
    """Axes that are the same, joined one pair after the other; those that are read otherwise.

    ``points`` are those that a statement reads at its own point of a dimension.
    """

    leader: dict[Place, Place] = field(default_factory=dict[Place, Place])
    fixed: set[Place] = field(default_factory=set[Place])
    points: list[tuple[Place, Dim, str]] = field(default_factory=list[tuple[Place, Dim, str]])

    def find(self, place: Place) -> Place:
        passed = [place]
        while (up := self.leader.get(passed[-1], passed[-1])) != passed[-1]:
            passed.append(up)
        self.leader |= dict.fromkeys(passed, passed[-1])
        return passed[-1]

    def join(self, a: Place, b: Place) -> None:
        self.leader[self.find(a)] = self.find(b)

    def leaders(self, places: Iterable[Place]) -> set[Place]:
        return {self.find(place) for place in places}

    def members(self, system: System) -> list[tuple[Place, list[Place]]]:
        """Every family, with its leader."""
        out: dict[Place, list[Place]] = defaultdict(list)
        for name, s in system.statements.items():
            for axis in s.axes:
                place = Place(name, axis.index)
                out[self.find(place)].append(place)
        return [*out.items()]


def families(statements: Mapping[str, Statement]) -> Families:
    found = Families()
    for name, s in statements.items():
        own = {a.index: a for a in s.axes}
        found.fixed |= {Place(name, d) for d in _whole(s)}
        for load in s.reads:
            _read(found, s, own, load, statements[load.tensor])
    return found


def _whole(s: Statement) -> Iterator[Dim]:
    """The axes that a statement needs all positions of at once, or whose size varies."""
    for axis in s.axes:
        needs_all = axis.index in s.reduced and (s.kind == "along" or s.fold in POSITIONS)
        if needs_all or axis.index == s.along or s.kind == "host" or axis.size != axis.pad:
            yield axis.index


def _read(
    found: Families, reader: Statement, own: Mapping[Dim, Axis], load: Load, s: Statement
) -> None:
    """Join the axes that a load of ``s`` reads at the same place; fix those it reads otherwise.

    What a Python function has given lies there as a whole, and may be read at any place.
    """
    read = () if s.kind == "host" else zip(s.result_axes, load.axes, strict=True)
    for axis, at in read:
        here, index = Place(s.name, axis.index), at.as_dim()
        if index is not None and index in own and own[index].size == axis.size:
            found.join(here, Place(reader.name, index))
        elif index is not None and index in reader.dims and axis.size == expr(index.extent):
            found.points.append((here, index, reader.name))
        else:
            found.fixed.add(here)
    sizes = [d for pick in load.picks for d in pick.axis.size.dims]
    found.fixed |= {Place(reader.name, d) for d in sizes if d in own}


def with_dim(system: System, family: Sequence[Place], dim: Dim) -> System:
    """Turn one axis of every statement of a family into a dimension that may run in tiles."""
    at = dict(family)

    def placed(dims: Sequence[Dim]) -> int:
        return sum(d.serial < dim.serial for d in dims)

    def moved(load: Load) -> Load:
        if load.tensor not in at:
            return load
        s = system.statements[load.tensor]
        axes = [a.index for a in s.result_axes]
        if at[load.tensor] not in axes:
            return load
        place, k = axes.index(at[load.tensor]), placed(s.result_dims)
        others = (*load.axes[:place], *load.axes[place + 1 :])
        dims = (*load.dims[:k], load.axes[place], *load.dims[k:])
        return replace(load, dims=dims, axes=others)

    def changed(s: Statement) -> Statement:
        index = at.get(s.name)
        if index is None:
            return Rewrite({}, moved).clauses(s)
        s = Rewrite({index: expr(dim)}, moved).clauses(s)
        reduced = {dim if d == index else d for d in s.reduced}
        k = placed(s.dims)
        return replace(
            s,
            dims=(*s.dims[:k], dim, *s.dims[k:]),
            axes=tuple(a for a in s.axes if a.index != index),
            lanes=s.lanes | {dim},
            reduced=frozenset(reduced),
        )

    statements = {n: changed(s) for n, s in system.statements.items()}
    axis_of = {(statement, dim): index for statement, index in at.items()}
    return replace(system, statements=statements, axis_of=system.axis_of | axis_of)
