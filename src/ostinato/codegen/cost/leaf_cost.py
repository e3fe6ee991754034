"""What one leaf of a schedule takes at a point: a nest, a product, a sweep or a fill."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import assert_never

from ostinato.codegen.ir.changed_elements import Test
from ostinato.codegen.ir.partial_sums import is_short_row
from ostinato.codegen.ir.system import (
    Axis,
    Call,
    Choice,
    Draw,
    Literal_,
    Load,
    Position,
    Statement,
    Value,
    children,
)
from ostinato.codegen.ir.tree import Calling, Contraction, Fill, Leaf, Nest, Span, Sweep, Tree
from ostinato.codegen.loops.expression import ITEM_BYTES
from ostinato.codegen.masks.guards import guard_of
from ostinato.codegen.masks.kept_elements import Clause, narrow
from ostinato.codegen.memory.storage import Storage
from ostinato.codegen.memory.transposed import transposed_copies
from ostinato.codegen.systems.axes import coefficient
from ostinato.codegen.systems.masked_sums import factors
from ostinato.machine.cost_model import FREE, CostModel
from ostinato.pdg.bounds import conjuncts
from ostinato.pdg.condition import Cond, holds
from ostinato.pdg.functions import FLOATS
from ostinato.pdg.index import Dim, Expr, Extent, evaluate

SAMPLES = 16  # steps between the first and the last of a loop that are looked at


@dataclass
class Needed:
    """The conditions of a plan, and the loops that a walk over it is in."""

    guards: Mapping[str, Cond]
    spans: dict[Dim, Span] = field(default_factory=dict[Dim, Span])

    def enter(self, span: Span) -> None:
        """Say that what is asked for next lies in this loop."""
        self.spans[span.dim] = span

    def part(self, leaf: Tree, point: Mapping[Dim | Extent, int]) -> float:
        """The part of the steps around a leaf or a loop at which it runs, between 0 and 1.

        Conditions on several dims count as independent, at the middles of the other loops.
        """
        guard = guard_of(leaf, self.guards)
        return math.prod(self._true(cond, point) for cond in conjuncts(guard))

    def _true(self, cond: Cond, point: Mapping[Dim | Extent, int]) -> float:
        asked = cond.symbols
        if asked - point.keys():
            return 1.0  # it depends on data, or on what a leaf itself runs over
        dim = next((d for d in self.spans if d in asked), None)
        if dim is None:
            return float(holds(cond, point))
        lo, hi = (evaluate(end, point) for end in (self.spans[dim].lo, self.spans[dim].hi))
        inner = range(lo + 1, hi - 1)
        some = inner[:: max(1, len(inner) // SAMPLES)]
        ends = sum(holds(cond, {**point, dim: at}) for at in {lo, hi - 1} if lo < hi)
        between = sum(holds(cond, {**point, dim: at}) for at in some) / max(1, len(some))
        return (ends + between * len(inner)) / max(1, hi - lo)


Point = Mapping[Dim | Extent, int]
MANY = 1e9  # how often an accumulator is moved: it is near all the time
FEW_DRAWS = 4  # draws alone take as long as so many in a vector
UNROLLED = 64  # elements of a loop that becomes straight code


@dataclass
class Leaves:
    """Prices leaves; everything is in nanoseconds of one worker."""

    statements: Mapping[str, Statement]
    storage: Mapping[str, Storage]
    cost: CostModel
    keeps_parts: bool = False  # rows of floats are added up in lanes
    limits: Mapping[Clause, Sequence[Test]] = field(default_factory=dict[Clause, Sequence[Test]])
    near: frozenset[str] = frozenset()  # tensors that the same kernel computes
    _sizes: dict[str, float] = field(default_factory=dict[str, float])

    def time(self, leaf: Leaf, point: Point) -> float:
        """The time of one leaf at a point."""
        match leaf:
            case Nest():
                return self.nest(leaf, point)
            case Contraction():
                return self.product(leaf, point)
            case Sweep(name, rows):
                return self.sweep(self.statements[name], rows, point)
            case Fill(tensor):
                elements = positions(self.statements[tensor].result_axes, point)
                return self.cost.profile.leaf_ns + self.moved(tensor, elements, point)
            case Calling():
                return self.cost.profile.host_ns
            case unknown:
                assert_never(unknown)

    # Nests

    def nest(self, leaf: Nest, point: Point) -> float:
        """One loop nest: the starts of its innermost loops, then its elements."""
        clause = clause_at(leaf.conds, point)
        moving = leaf.moving(clause) if clause is not None else ()
        if clause is None or not moving:
            return 0.0
        few = narrow(self.limits.get((leaf.statements[0], clause), ()))
        sizes = [1.0 if a.index in few else size_at(a, point) for a in leaf.axes]
        starts = math.prod(sizes[:-1])
        length = sizes[-1] if sizes else 1.0
        inner = leaf.axes[-1].index if leaf.axes else None
        work = _Row(self, point, inner, length, leaf.axes[:-1])
        loops = {a.index for a in leaf.axes}
        work.transposed = bool(transposed_copies(leaf, clause, self.statements, self.storage))
        work.in_order = inner is not None and any(
            self.in_order(self.statements[name], leaf.axes[-1]) for name in leaf.statements
        )
        for name in moving:
            work.statement(self.statements[name], clause, loops, name in leaf.memory)
        if not leaf.axes:  # numbers are moved one by one
            return len(moving) * self.cost.profile.point_ns + work.time
        return starts * (self.start(leaf.axes, work.in_order) + work.time)

    def in_order(self, s: Statement, inner: Axis) -> bool:
        """Whether a statement adds up floats along an axis one after the other."""
        is_apart = self.keeps_parts and not is_short_row(inner.size)
        return inner.index in s.reduced and s.dtype in FLOATS and not is_apart

    def start(self, axes: Sequence[Axis], in_order: bool) -> float:
        """Starting an innermost loop: less without vectors, or if it becomes straight code."""
        if in_order:
            return 2 * self.cost.profile.point_ns
        short = axes[-1].size.is_const and axes[-1].size.as_int() <= UNROLLED
        return self.cost.profile.leaf_ns / (3 if short else 1)

    # Products

    def product(self, leaf: Contraction, point: Point) -> float:
        """A matrix product with its epilogues."""
        s = self.statements[leaf.statement]
        m, n, k = (size_at(a, point) for a in (leaf.m, leaf.n, leaf.k))
        inside = positions(leaf.summed(s.reduced), point)
        times, k = positions(leaf.outer, point) / inside, k * inside
        total = times * self.cost.product_ns(m, n, k, leaf.form, s.dtype)
        for load, size in zip(factors(s), (m * k, k * n), strict=True):
            total += times * self.beyond(load.tensor, size, point)
        stored = [s.name, *leaf.epilogues]
        if leaf.accumulate:
            total += times * self.moved(s.name, m * n, point)
        for name in leaf.epilogues:
            row = _Row(self, point, leaf.n.index if leaf.n else None, n)
            row.value(self.statements[name].clauses[0][1])
            total += times * m * row.time
        return total + times * sum(self.moved(name, m * n, point) for name in stored)

    # Functions of whole axes

    def sweep(self, s: Statement, rows: Sequence[Axis], point: Point) -> float:
        """A function of whole axes on every row."""
        count = positions(rows, point)
        walked = [size_at(a, point) for a in s.axes if a.index in s.reduced]
        length = max(walked, default=1.0)
        out = (
            1.0 if s.along is None else max(size_at(a, point) for a in s.axes if a.index == s.along)
        )
        inner = size_at(rows[-1], point) if rows else 1.0
        return count * self.cost.row_ns(s.fold, length, out, inner)

    # Memory

    def moved(self, tensor: str, elements: float, point: Point, again: float = 1.0) -> float:
        """Moving elements of a tensor between registers and the level that holds all of it.

        Elements that are moved ``again`` so often come from the nearest level after the first time,
        and those that the same kernel has computed, a tile at a time, from the second at most. What
        a worker keeps for itself is all of a tile already.
        """
        storage, nearest = self.storage[tensor], self.cost.profile.byte_ns[0]
        if storage.place == "register":
            return 0.0
        rate = self.cost.move_ns(self.bytes(storage, point))
        if tensor in self.near and storage.place != "local":
            rate = min(rate, self.cost.profile.byte_ns[1])
        return elements * ITEM_BYTES[storage.dtype] * (nearest + (rate - nearest) / again)

    def beyond(self, tensor: str, elements: float, point: Point) -> float:
        """What moving takes longer than from the level that products are measured in."""
        fast = elements * ITEM_BYTES[self.storage[tensor].dtype] * self.cost.profile.byte_ns[1]
        return max(0.0, self.moved(tensor, elements, point) - fast)

    def bytes(self, storage: Storage, point: Point) -> float:
        """The bytes of one copy of a tensor."""
        if storage.tensor not in self._sizes:
            total = float(ITEM_BYTES[storage.dtype])
            for size in storage.shape:
                total *= max(1, evaluate(size, point))
            self._sizes[storage.tensor] = total
        return self._sizes[storage.tensor]


@dataclass
class _Row:
    """The time of one run of an innermost loop, or of one point where there is none."""

    leaves: Leaves
    point: Point
    inner: Dim | None
    length: float
    outer: tuple[Axis, ...] = ()  # the loops around the innermost one
    in_order: bool = False  # a number is accumulated: no two elements at once
    transposed: bool = False  # squares are transposed in registers: no read is far from the last
    time: float = 0.0
    seen: set[Value] = field(default_factory=set[Value])

    def statement(self, s: Statement, clause: int, loops: set[Dim], in_memory: bool) -> None:
        """Add a statement of the nest: its value, its fold, its store."""
        copies = positions([a for a in s.axes if a.index not in loops], self.point)
        before = self.time
        self.value(s.clauses[clause][1])
        elements = float(self.length)
        if s.kind == "fold" or s.kind == "matmul":
            self.fold(s)
            if in_memory:
                self.time += self.leaves.moved(s.name, elements, self.point, MANY)
            elif self.inner in s.reduced:
                elements = 1.0
        self.time = before + copies * (self.time - before)
        again = MANY if in_memory else 1.0
        self.time += copies * self.leaves.moved(s.name, elements, self.point, again)

    def fold(self, s: Statement) -> None:
        profile = self.leaves.cost.profile
        if self.inner in s.reduced and self.in_order:
            self.time += self.length * profile.fold_ns
        else:
            self.time += self.steps(s.dtype) * profile.step_ns

    def steps(self, dtype: str) -> float:
        """Elements that the loop takes the time of: whole vectors, unless numbers are alone."""
        cost = self.leaves.cost
        if self.in_order or self.inner is None:
            elements = self.length * min(cost.profile.alone, cost.lanes(dtype))
        else:
            elements = cost.vectors(self.length, dtype)
        return elements * cost.wide(dtype)

    def value(self, value: Value) -> None:
        """Add what a value takes, shared parts once; what no loop changes is computed before."""
        if value in self.seen:
            return
        self.seen.add(value)
        for child in children(value):
            self.value(child)
        cost = self.leaves.cost
        match value:
            case Literal_() | Position():
                pass
            case Load():
                self.load(value)
            case Call(fn, _, dtype):
                if fn not in FREE:
                    self.time += self.steps(dtype) * cost.function_ns(fn)
            case Draw(fn=fn, dtype=dtype):
                each = cost.draw_ns(fn) * cost.wide(dtype)
                self.time += max(self.length, FEW_DRAWS) * each
            case Choice(_, _, _, dtype):
                self.time += self.steps(dtype) * cost.profile.step_ns
            case unknown:
                assert_never(unknown)

    def load(self, load: Load) -> None:
        """Add a read: of neighbours, of strided elements, or of one element for the whole loop."""
        indices = (*load.dims, *load.axes)
        named = frozenset[Dim]().union(*(each.dims for each in indices))
        picked = {p.axis.index for p in load.picks if self.varies(p.at)}
        again = max(1, positions([a for a in self.outer if a.index not in named], self.point))
        along = [e for e in indices if self.inner is not None and self.inner in e.dims]
        elements, strided = self.length, float(bool(named & {p.axis.index for p in load.picks}))
        if named & picked:
            strided = self.length
        elif not along:
            elements = 1.0
        elif not self.transposed and (
            along != list(indices[-1:]) or not _is_next(along[0], self.inner)
        ):
            strided = self.length
        self.time += strided * self.leaves.cost.profile.strided_ns / again
        self.time += self.leaves.moved(load.tensor, elements, self.point, again)

    def varies(self, value: Value) -> bool:
        """Whether a value is another one at every element of the loop."""
        match value:
            case Position(of):
                return self.inner in of.dims
            case Load(_, dims, axes) if any(self.inner in e.dims for e in (*dims, *axes)):
                return True
            case Draw():
                return True
            case _:
                return any(map(self.varies, children(value)))


def _is_next(at: Expr, index: Dim | None) -> bool:
    return index is not None and coefficient(at, index) == 1


def clause_at(conds: Sequence[Cond], point: Point) -> int | None:
    """The first clause whose condition holds at the point; an unknown condition counts as true."""
    for number, cond in enumerate(conds):
        if cond.symbols - point.keys() or holds(cond, point):
            return number
    return None


def size_at(axis: Axis | None, point: Point) -> float:
    """The size of an axis; one that varies with another axis is half as long as it can be."""
    if axis is None:
        return 1.0
    inside: dict[Dim | Extent, int] = dict(point)
    for d in axis.size.dims - point.keys():
        inside[d] = evaluate(axis.pad, point) // 2
    return float(max(0, evaluate(axis.size, inside)))


def positions(axes: Iterable[Axis], point: Point) -> float:
    return math.prod(size_at(a, point) for a in axes)
