"""Axes of arrays become dimensions that run in tiles: of rows that are long, or much work.

A sum over a million rows of an array needs the intermediate values of a few rows only: partial sums
of tiles are added up in a fixed order. And the rows of a minibatch, each of which goes through a
network, are work for several threads, a tile at a time in the nearest cache. A family of axes
becomes a dimension if all of its tensors are read row by row, and if it is worth it: the
intermediate values take more memory than the partial sums will, or their work pays for threads that
nothing else in it employs.
"""

from __future__ import annotations

import math
from collections.abc import Sequence, Set
from functools import cached_property

from ostinato.codegen.ir.extents import Sizes
from ostinato.codegen.ir.partial_sums import TILES
from ostinato.codegen.ir.system import Axis, Statement, System, fresh, readers
from ostinato.codegen.systems.axes import cut_axis
from ostinato.codegen.systems.axis_families import Place, families, with_dim
from ostinato.codegen.systems.carried import carried_dims, serial_dims
from ostinato.codegen.systems.equation_cost import point_ns
from ostinato.codegen.systems.tile_choice import balanced_width
from ostinato.codegen.target import Target
from ostinato.machine.cost_model import REFERENCE
from ostinato.pdg.index import Dim
from ostinato.pdg.scc import components

LONG = 4096  # rows: fewer need no tiles to save memory


def long_rows(system: System, target: Target) -> System:
    """Return the system with a dimension instead of every family of axes that is worth it."""
    found = families(system.statements)
    taken = {d.name for s in system.statements.values() for d in s.dims}
    fixed = found.leaders(found.fixed) | found.leaders(place for place, _, _ in found.points)
    open_ = [family for leader, family in found.members(system) if leader not in fixed]
    worth = _Worth(system, target)
    for family in sorted(open_, key=lambda f: (-worth.per_round_ns(f), -worth.rows(f))):
        if worth.is_given(family):
            name = fresh("row", taken)
            taken.add(name)
            size = _axis(system.statements[family[0].statement], family[0].along).size
            system = with_dim(system, family, Dim(name, size=size))
            worth = _Worth(system, target)
    return system


class _Worth:
    """Whether tiles along a family of axes are worth it, in a system as it is."""

    def __init__(self, system: System, target: Target) -> None:
        self.target = target
        self.statements = system.statements
        self.size = Sizes(system.statements, system.hints).steps
        self.ends = system.ends
        self.readers = readers(self.statements.values())
        self.carried = carried_dims(self.statements)
        self.serial = serial_dims(self.statements, self.carried)

    def rows(self, family: Sequence[Place]) -> int:
        return self.size(_axis(self.statements[family[0].statement], family[0].along).size)

    def is_given(self, family: Sequence[Place]) -> bool:
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

    def saves(self, family: Sequence[Place]) -> bool:
        """Whether what passes from statement to statement is larger than tiles and their sums.

        And larger than what is kept whole in any case.
        """
        rows = self.rows(family)
        if rows < LONG:
            return False
        line = sums = kept = 0
        whole = self.whole(family)
        for name, index in family:
            s = self.statements[name]
            others = math.prod(self.size(a.pad) for a in s.result_axes if a.index != index)
            if index in s.reduced:
                sums += others
            elif name in whole:
                kept += others
            elif name not in self.ends:
                line += others
        width = balanced_width(rows, line, sums, TILES, self.target)
        tiles = TILES * width * line + sums * rows // width
        is_far = 4 * line * rows >= self.target.near_bytes
        return is_far and line * rows > 2 * tiles and line > kept

    def whole(self, family: Sequence[Place]) -> set[str]:
        """What is stored whole in any case: tiles of it do not pass from one reader to the next.

        It is read at another point, such as in the next step or in a loop inside, or after a sum
        of all rows.
        """
        names = {name for name, _ in family}
        turn = self.turns(family, names)
        out = set[str]()
        for read in names:
            for s, _ in self.readers.get(read, ()):
                is_inside = len(s.dims) > len(self.statements[read].dims)
                is_here = read in self.same_step[s.name] and not is_inside
                if not is_here or turn.get(s.name, 0) > turn.get(read, 0):
                    out.add(read)
        return out

    def employs(self, family: Sequence[Place]) -> bool:
        """Whether the rows are work for threads to which nothing else gives tiles.

        If there are products, all is for them.
        """
        own = [self.statements[name] for name, _ in family]
        products = [s for s in own if s.kind == "matmul"]
        if any(s.lanes - self.carried[s.name] - self.serial for s in products or own):
            return False
        joining = REFERENCE.profile.joining_ns
        return self.rows(family) > 1 and self.per_round_ns(family) >= joining

    def work_ns(self, family: Sequence[Place]) -> float:
        """What computing the statements of a family takes."""
        return sum(self.time_ns(self.statements[name]) for name, _ in family)

    def per_round_ns(self, family: Sequence[Place]) -> float:
        """What tiles gain in each of the rounds in which they run.

        Rows of a minibatch add up once, at the end. Of units of a layer the next layer needs the
        sums of all before units of this one go on: every round waits, and what lies between two
        is stored whole.
        """
        gain = self.gain_ns(family)
        return gain / self.rounds(family) if gain > 0 else gain

    def rounds(self, family: Sequence[Place]) -> int:
        """How often sums of products wait for all rows before there are further products."""
        heavy = {name for name, _ in family if self.statements[name].kind == "matmul"}
        heavy = heavy or {name for name, _ in family}
        turn = self.turns(family, heavy)
        return max(turn[name] for name in heavy)

    def turns(self, family: Sequence[Place], heavy: Set[str]) -> dict[str, int]:
        """The round in which a statement runs: heavy ones begin the first, sums of all end one.

        What needs no heavy one is not among them.
        """
        adds = {name for name, index in family if index in self.statements[name].reduced}
        turn: dict[str, int] = {}
        for name in self.in_order:
            before = [turn[x] + (x in adds) for x in self.same_step[name] if x in turn]
            if before or name in heavy:
                turn[name] = max(before, default=1)
        return turn

    @cached_property
    def same_step(self) -> dict[str, list[str]]:
        """The tensors that every statement reads at the point where it runs."""
        found = {
            name: {
                load.tensor for load in s.reads if all(e.as_dim() is not None for e in load.dims)
            }
            for name, s in self.statements.items()
        }
        return {name: sorted(read - {name}) for name, read in found.items()}

    @cached_property
    def in_order(self) -> list[str]:
        """The statements, each after those that it reads at its point."""
        groups = components([*self.statements], self.same_step)
        return [name for group in reversed(groups) for name in group]

    def gain_ns(self, family: Sequence[Place]) -> float:
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
