"""Demand: the points at which each value must exist, pushed from the outputs to the leaves.

Outputs are demanded at every point of their box, an equation's right side where its case is the
first that holds, operands through the reads. A recurrence that reads itself grows until nothing
new is demanded; one that does not settle in a few rounds is widened to the limits that stay, and
then to its box, so its demand may be too large but never too small.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Hashable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import lru_cache, partial
from typing import assert_never

from ostinato.pdg.condition import ALWAYS, Cond, equal
from ostinato.pdg.index import Dim, Expr, Slice, expr
from ostinato.pdg.isl import LowerBounds, Relation, Set, condition_set, domain_set, relation
from ostinato.pdg.isl import universe as every_point
from ostinato.pdg.node import (
    Affine,
    Along,
    Broadcast,
    Case,
    Concat,
    Const,
    Gather,
    Host,
    Input,
    Iota,
    Linear,
    Map,
    Matmul,
    Node,
    Part,
    Pdg,
    Random,
    Read,
    Rec,
    Reduce,
    Reshape,
    Scan,
    Transpose,
)

_SETTLE_ROUNDS = 3  # growths of one recurrence before its demand is widened
_WIDEN_ROUNDS = 6  # growths before it becomes the whole box
MOST_PIECES = 500  # size of a set: isl takes exponential time for remainders in many pieces


@lru_cache(maxsize=1024)
def box(dims: tuple[Dim, ...]) -> Set:
    """Every point with ``0 <= d < D`` in each dimension."""
    return domain_set(dims)


@lru_cache(maxsize=4096)
def read_relation(
    at: tuple[tuple[Dim, Expr | Slice], ...], ins: tuple[Dim, ...], outs: tuple[Dim, ...]
) -> Relation:
    """Points of a read to the points of its operand."""
    table = dict(at)
    within: list[tuple[Dim, Expr]] = []
    exprs: list[Expr] = []
    for dim in outs:
        index = table.get(dim, expr(dim))
        if isinstance(index, Slice):
            counter = Dim(f"{dim}_")
            within.append((counter, index.size))
            index = index.lo + expr(counter) * index.step
        exprs.append(index)
    return relation(ins, outs, exprs, within=within)


def _span(dims: tuple[Dim, ...], dim: Dim, reverse: bool) -> Relation:
    """A point to all points before it, or after it, and itself, in one dimension."""
    steps = Dim(f"{dim}_")
    exprs = [expr(d) for d in dims]
    k = dims.index(dim)
    exprs[k] = exprs[k] + steps if reverse else exprs[k] - steps
    size = expr(dim.extent) - dim if reverse else expr(dim) + 1
    return relation(dims, dims, exprs, within=[(steps, size)])


def _widened(known: Set, grown: Set, inside: Set) -> Set:
    """A grown set with what the known one's remaining limits leave room for."""
    return grown | (known.widened(grown) & inside)


@dataclass(eq=False)
class Halves:
    """Which two sets are the parts of a third one; sets count by identity.

    A chain of choices asks of one value what each branch asks, and the parts of parts are the
    whole. As a union of sets the whole would be one of very many pieces.
    """

    _wholes: dict[Set, list[tuple[Set, Set]]] = field(
        default_factory=dict[Set, list[tuple[Set, Set]]]
    )

    def note(self, one: Set, other: Set, whole: Set) -> None:
        """Remember that two sets are the parts of a third one."""
        for part, rest in ((one, other), (other, one)):
            known = self._wholes.setdefault(part, [])
            if not any(r is rest for r, _ in known):
                known.append((rest, whole))

    def joined(self, parts: Iterable[Set]) -> list[Set]:
        """Return sets with the same union, wholes in place of their parts."""
        found: dict[Set, None] = {}
        for part in parts:
            while (pair := self._other_half(part, found)) is not None:
                rest, part = pair
                del found[rest]
            found[part] = None
        return list(found)

    def _other_half(self, part: Set, found: dict[Set, None]) -> tuple[Set, Set] | None:
        known = self._wholes.get(part, ())
        return next((pair for pair in known if pair[0] in found), None)


@dataclass(eq=False)
class Demand:
    """The demanded points of every node of a program, for extents from ``minimum`` on.

    Demand ``is_rough`` where some set had more than ``most`` pieces, and a simple one around it was
    taken.
    """

    pdg: Pdg
    minimum: LowerBounds
    most: int = MOST_PIECES
    is_rough: bool = field(init=False, default=False)
    _sets: dict[Node, Set] = field(init=False)
    _growths: dict[str, int] = field(init=False)
    _known: dict[Hashable, Set] = field(init=False)
    _halves: Halves = field(init=False)

    def __post_init__(self) -> None:
        self._sets, self._growths, self._known, self._halves = {}, {}, {}, Halves()
        self._propagate()
        self._known.clear()

    def _once(self, made: Callable[[], Set], *of: Hashable) -> Set:
        """A set by what it is made of: equal ones are one, so that few questions go to isl.

        Sets count by identity: whoever makes one here keeps those that it is made of.
        """
        found = self._known.get(of)
        if found is None:
            found = made()
            found = self._known.setdefault((found.dims, found.raw), found)
            self._known[of] = found
        return found

    def of(self, node: Node) -> Set:
        """The points of a node's domain at which its value is needed."""
        return self._sets.get(node) or every_point(node.domain) - every_point(node.domain)

    def leaves_box(self, node: Node) -> bool:
        """Whether a `Read` leaves the box of its operand at a demanded point."""
        assert isinstance(node.op, Read), f"{node} is no read"
        (x,) = node.args
        reached = read_relation(node.op.at, node.domain, x.domain).apply(self.of(node))
        return not self.are_inside(reached, box(x.domain))

    def are_inside(self, points: Set, others: Set) -> bool:
        """Whether others have all of some points, for extents from the least on.

        The least count for what either set says of extents: step 0 is inside of every dimension.
        """
        return (points - others).assume(self.minimum).is_empty()

    def uncovered(self, name: str) -> Set:
        """The demanded points of a recurrent tensor that no case of its equations covers."""
        equation = self.pdg.equations[name]
        rest = self.of(equation.rec) & box(equation.rec.domain)
        for cond in sorted((c for c, _ in equation.cases), key=lambda c: c != ALWAYS):
            rest = self._cut(rest, condition_set(rest.dims, cond), Set.__sub__)
        return rest.assume(self.minimum)

    def operands(self, node: Node, points: Set) -> Iterator[tuple[Node, Set]]:
        """What a node needs of other nodes for its value at some points."""
        match node.op:
            case Const() | Affine() | Iota() | Random() | Input():
                return
            case Rec(name):
                within = partial(points.__and__, box(node.domain))
                yield from self._cases(name, self._once(within, "box", points))
            case Read(at):
                (x,) = node.args
                across = read_relation(at, node.domain, x.domain)
                reached = partial(self._reached, across, points)
                yield x, self._once(reached, "reached", across, points)
            case Case(cond):
                yield from zip(node.args, self._parts(points, cond), strict=True)
            case Scan(_, dim, reverse):
                yield node.args[0], self._simple(_span(points.dims, dim, reverse).apply(points))
            case Linear(dim, reverse):
                inside = points & box((dim,)).onto(points.dims)
                steps = self._simple(_span(points.dims, dim, reverse).apply(inside))
                first = equal(expr(dim), expr(dim.extent) - 1 if reverse else 0)
                yield node.args[0], steps - condition_set(points.dims, first)
                yield node.args[1], steps
            case (
                Map() | Reduce() | Matmul() | Reshape() | Transpose() | Broadcast() | Concat()
                | Part() | Gather() | Along() | Host()
            ):  # fmt: skip
                yield from ((arg, points) for arg in node.args)
            case other:
                assert_never(other)

    def _cases(self, name: str, points: Set) -> Iterator[tuple[Node, Set]]:
        equation = self.pdg.equations.get(name)
        for cond, right in equation.cases if equation else ():
            part, points = self._parts(points, cond)
            yield right, part

    def _parts(self, points: Set, cond: Cond) -> tuple[Set, Set]:
        """The points where a condition holds, and the others."""
        holds = condition_set(points.dims, cond)
        part = self._once(partial(self._cut, points, holds, Set.__and__), "and", cond, points)
        rest = self._once(partial(self._cut, points, holds, Set.__sub__), "not", cond, points)
        self._halves.note(part, rest, points)
        return part, rest

    def _cut(self, points: Set, holds: Set, by: Callable[[Set, Set], Set]) -> Set:
        """A part of a set; where it has too many pieces, that of a simple set around the set."""
        found = by(points, holds)
        return found if found.size <= self.most else self._simple(by(self._roughly(points), holds))

    def _simple(self, points: Set) -> Set:
        """A set itself; where it has too many pieces, a simple one around it."""
        return points if points.size <= self.most else self._roughly(points)

    def _roughly(self, points: Set) -> Set:
        self.is_rough = True
        return self._once(partial(self._around, points), "rough", points)

    def _around(self, points: Set) -> Set:
        """A simple set around one, which leaves the box only where that does."""
        found, inside = points.roughly(self.most), box(points.dims)
        return found & inside if self.are_inside(points, inside) else found

    def _propagate(self) -> None:
        order = {node: k for k, node in enumerate(self.pdg.nodes())}
        nodes = list(order)
        waiting: list[int] = []  # users before operands: the highest number first
        asked: dict[Node, list[Set]] = {}  # by the users of those that wait

        def ask(node: Node, points: Set) -> None:
            if node not in asked:
                heapq.heappush(waiting, -order[node])
            asked.setdefault(node, []).append(points)

        for _, node in self.pdg.outputs:
            ask(node, box(node.domain))
        while waiting:
            node = nodes[-heapq.heappop(waiting)]
            if self._grow(node, asked.pop(node)):
                for arg, points in self.operands(node, self._sets[node]):
                    ask(arg, points)

    def _grow(self, node: Node, asked: list[Set]) -> bool:
        """Add points to the demand of a node; whether any was new."""
        known = self._sets.get(node)
        parts = self._halves.joined(asked)
        parts = [self._onto(node.domain, points) for points in parts]
        parts = self._halves.joined(parts if known is None else [known, *parts])
        grown = parts[0]
        for part in parts[1:]:
            grown = self._once(partial(self._united, grown, part), "or", grown, part)
        if grown is known:
            return False
        if known is None:
            self._sets[node] = grown
            return not grown.is_empty()
        if isinstance(node.op, Rec):
            grown = self._settle(node, known, grown)
        self._sets[node] = grown
        return True

    def _onto(self, dims: tuple[Dim, ...], points: Set) -> Set:
        if points.dims == dims:
            return points
        return self._once(lambda: points.onto(dims), "onto", dims, points)

    def _united(self, known: Set, points: Set) -> Set:
        """Both sets as one: the known one itself where nothing is new."""
        return known if points.is_subset(known) else self._simple(known | points)

    def _reached(self, across: Relation, points: Set) -> Set:
        return self._simple(across.apply(points).assume(self.minimum))

    def _settle(self, node: Node, known: Set, grown: Set) -> Set:
        name, inside = str(node.op), box(node.domain)
        self._growths[name] = rounds = self._growths.get(name, 0) + 1
        if rounds >= _WIDEN_ROUNDS:
            return self._once(lambda: grown | inside, "whole", grown)
        if rounds >= _SETTLE_ROUNDS:
            wider = partial(_widened, known, grown, inside)
            return self._once(wider, "widened", known, grown)
        return grown
