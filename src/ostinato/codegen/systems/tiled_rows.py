"""Axes of arrays become dimensions that run in tiles: of rows that are long, or much work.

A sum over a million rows of an array needs the intermediate values of a few rows only: partial sums
of tiles are added up in a fixed order. And the rows of a minibatch, each of which goes through a
network, are work for several threads, a tile at a time in the nearest cache. The axes of different
tensors that are one axis of the program, because each is read exactly where the other runs, form a
family; a family becomes a dimension if all of its tensors are read row by row, and if it is worth
it: the intermediate values take more memory than the partial sums will, or their work pays for
threads that nothing else in it employs.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import NamedTuple

from ostinato.codegen.ir.extents import Sizes
from ostinato.codegen.ir.partial_sums import TILES
from ostinato.codegen.ir.system import Axis, Load, Statement, System, fresh, loads
from ostinato.codegen.ir.values import Rewrite
from ostinato.codegen.systems.axes import cut_axis
from ostinato.codegen.systems.carried import carried_dims, serial_dims
from ostinato.codegen.systems.equation_cost import point_ns
from ostinato.codegen.systems.tile_choice import balanced_width
from ostinato.codegen.target import Target
from ostinato.machine.cost_model import REFERENCE
from ostinato.pdg.functions import POSITIONS
from ostinato.pdg.index import Dim, dims_of, expr
from ostinato.pdg.scc import components

LONG = 4096  # rows: fewer need no tiles to save memory


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
        passed = [place]
        while (up := self.leader.get(passed[-1], passed[-1])) != passed[-1]:
            passed.append(up)
        self.leader |= dict.fromkeys(passed, passed[-1])
        return passed[-1]

    def join(self, a: _Place, b: _Place) -> None:
        self.leader[self.find(a)] = self.find(b)


def long_rows(system: System, target: Target) -> System:
    """Return the system with a dimension instead of every family of axes that is worth it."""
    found = _families(system.statements)
    members: dict[_Place, list[_Place]] = defaultdict(list)
    for name, s in system.statements.items():
        for axis in s.axes:
            place = _Place(name, axis.index)
            members[found.find(place)].append(place)
    fixed = {found.find(place) for place in found.fixed}
    taken = {d.name for s in system.statements.values() for d in s.dims}
    families = [f for leader, f in members.items() if leader not in fixed]
    worth = _Worth(system, target)
    for family in sorted(families, key=lambda f: (-worth.per_round_ns(f), -worth.rows(f))):
        if worth.is_given(family):
            name = fresh("row", taken)
            taken.add(name)
            system = _with_dim(system, family, name)
            worth = _Worth(system, target)
    return system


def _families(statements: Mapping[str, Statement]) -> _Families:
    found = _Families()
    for name, s in statements.items():
        own = {a.index: a for a in s.axes}
        found.fixed |= {_Place(name, d) for d in _whole(s)}
        for _, value in s.clauses:
            for load in loads(value):
                _read(found, name, own, load, statements[load.tensor])
    return found


def _whole(s: Statement) -> Iterator[Dim]:
    """The axes that a statement needs all positions of at once, or whose size varies."""
    for axis in s.axes:
        needs_all = axis.index in s.reduced and (s.kind == "along" or s.fold in POSITIONS)
        if needs_all or axis.index == s.along or s.kind == "host" or axis.size != axis.pad:
            yield axis.index


def _read(found: _Families, name: str, own: Mapping[Dim, Axis], load: Load, s: Statement) -> None:
    """Join the axes that a load of ``s`` reads at the same place; fix those it reads otherwise."""
    for axis, at in zip(s.result_axes, load.axes, strict=True):
        here, index = _Place(s.name, axis.index), at.as_dim()
        if index is not None and index in own and own[index].size == axis.size:
            found.join(here, _Place(name, index))
        else:
            found.fixed.add(here)
    sizes = [d for pick in load.picks for d in dims_of(pick.axis.size)]
    found.fixed |= {_Place(name, d) for d in sizes if d in own}


class _Worth:
    """Whether tiles along a family of axes are worth it, in a system as it is."""

    def __init__(self, system: System, target: Target) -> None:
        self.target = target
        self.statements = system.statements
        self.size = Sizes(system.statements, system.hints).steps
        self.ends = {*system.inputs.values(), *system.outputs.values()}
        self.carried = carried_dims(self.statements)
        self.serial = serial_dims(self.statements, self.carried)

    def rows(self, family: Sequence[_Place]) -> int:
        return self.size(_axis(self.statements[family[0].statement], family[0].along).size)

    def is_given(self, family: Sequence[_Place]) -> bool:
        """Whether the family should be a dimension.

        The array of an argument or a result stays as it lies: the axis is its first.
        """
        names = [place.statement for place in family]
        firsts = all(
            self.statements[name].axes[0].index == index
            for name, index in family
            if name in self.ends and index not in self.statements[name].reduced
        )
        alone = len(set(names)) == len(names)
        return alone and firsts and (self.saves(family) or self.employs(family))

    def saves(self, family: Sequence[_Place]) -> bool:
        """Whether what is computed along the axis is larger than tiles and their sums."""
        rows = self.rows(family)
        line = sums = 0
        for name, index in family:
            s = self.statements[name]
            others = math.prod(self.size(a.pad) for a in s.result_axes if a.index != index)
            if index in s.reduced:
                sums += others
            elif name not in self.ends:
                line += others
        width = balanced_width(rows, line, sums, TILES, self.target)
        tiles = TILES * width * line + sums * rows // width
        is_far = 4 * line * rows >= self.target.near_bytes
        return rows >= LONG and is_far and line * rows > 2 * tiles

    def employs(self, family: Sequence[_Place]) -> bool:
        """Whether the rows are work for threads to which nothing else gives tiles.

        If there are products, all is for them.
        """
        own = [self.statements[name] for name, _ in family]
        products = [s for s in own if s.kind == "matmul"]
        if any(s.lanes - self.carried[s.name] - self.serial for s in products or own):
            return False
        joining = REFERENCE.profile.joining_ns
        return self.rows(family) > 1 and self.per_round_ns(family) >= joining

    def work_ns(self, family: Sequence[_Place]) -> float:
        """What computing the statements of a family takes."""
        return sum(self.time_ns(self.statements[name]) for name, _ in family)

    def per_round_ns(self, family: Sequence[_Place]) -> float:
        """What tiles gain in each of the rounds in which they run.

        Rows of a minibatch add up once, at the end. Of units of a layer the next layer needs the
        sums of all before units of this one go on: every round waits, and what lies between two
        is stored whole.
        """
        gain = self.gain_ns(family)
        return gain / self.rounds(family) if gain > 0 else gain

    def rounds(self, family: Sequence[_Place]) -> int:
        """How often sums of products wait for all rows before there are further products."""
        heavy = {name for name, _ in family if self.statements[name].kind == "matmul"}
        heavy = heavy or {name for name, _ in family}
        adds = {name for name, index in family if index in self.statements[name].reduced}
        count: dict[str, int] = {}
        for name in self.in_order:
            before = [(count.get(x, 0), x in adds) for x in self.same_step[name]]
            found = max((n + (n > 0 and waits) for n, waits in before), default=0)
            count[name] = max(found, name in heavy)
        return max(count[name] for name in heavy)

    @cached_property
    def same_step(self) -> dict[str, list[str]]:
        """The tensors that every statement reads at the point where it runs."""
        found = {
            name: {
                load.tensor
                for _, value in s.clauses
                for load in loads(value)
                if all(e.as_dim() is not None for e in load.dims)
            }
            for name, s in self.statements.items()
        }
        return {name: sorted(read - {name}) for name, read in found.items()}

    @cached_property
    def in_order(self) -> list[str]:
        """The statements, each after those that it reads at its point."""
        groups = components([*self.statements], self.same_step)
        return [name for group in reversed(groups) for name in group]

    def gain_ns(self, family: Sequence[_Place]) -> float:
        """What tiles take from one worker: not what slices do, and less the sums that tiles add.

        Of products that add up along other rows the sums of every tile would be whole matrices.
        """
        own = [(self.statements[name], index) for name, index in family]
        folded = [s for s, index in own if index in s.reduced]
        sums = TILES * sum(math.prod(self.size(a.pad) for a in s.result_axes) for s in folded)
        sliced = sum(self.time_ns(s) for s, _ in own if self.is_sliced(s))
        return self.work_ns(family) - sliced - 2 * 4 * sums * REFERENCE.move_ns(4 * sums)

    def is_sliced(self, s: Statement) -> bool:
        """Whether workers may share the elements of an array, whatever runs in tiles."""
        enough = self.points(s) >= self.target.shared_elements
        return s.kind == "map" and enough and cut_axis(s.axes) is not None

    def time_ns(self, s: Statement) -> float:
        return self.points(s) * point_ns(s, self.points(s))

    def points(self, s: Statement) -> int:
        return math.prod(self.size(a.pad) for a in s.axes)


def _axis(s: Statement, index: Dim) -> Axis:
    return next(a for a in s.axes if a.index == index)


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
        reduced = {dim if d == index else d for d in s.reduced}
        return replace(
            s,
            dims=(*s.dims, dim),
            axes=tuple(a for a in s.axes if a.index != index),
            lanes=s.lanes | {dim},
            reduced=frozenset(reduced),
        )

    statements = {n: changed(s) for n, s in system.statements.items()}
    axis_of = {(statement, dim): index for statement, index in at.items()}
    return replace(system, statements=statements, axis_of=system.axis_of | axis_of)
