"""What the statements of a kernel do in a run: operations, bytes by level, predicted time.

Loops are walked as `ostinato.codegen.cost.estimate` walks them. An element counts once per run of a
leaf, for the level that holds its whole tensor: what is read again comes from registers.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import assert_never

from ostinato.codegen.cost.communicated import middle
from ostinato.codegen.cost.estimate import Walk
from ostinato.codegen.cost.leaf_cost import Point, clause_at, positions, size_at
from ostinato.codegen.ir.system import Axis, Call, Choice, Draw, Load, Statement, Value, children
from ostinato.codegen.ir.tree import (
    Calling,
    Contraction,
    Fill,
    Leaf,
    Loop,
    Nest,
    Sweep,
    Tree,
    computed,
)
from ostinato.codegen.loops.expression import ITEM_BYTES
from ostinato.codegen.planning.planned import Plan
from ostinato.codegen.systems.masked_sums import factors
from ostinato.machine.cost_model import FREE
from ostinato.machine.profile import LEVELS, Profile
from ostinato.pdg.axis_functions import AXIS_FUNCTIONS
from ostinato.pdg.index import Dim


def _counts() -> dict[str, float]:
    return defaultdict[str, float](float)


@dataclass
class Work:
    """What is done in one run: predicted nanoseconds of one worker, operations, bytes by level.

    ``arithmetic_ns`` is what the operations take at the machine's best rate for each.
    """

    ns: float = 0.0
    arithmetic_ns: float = 0.0
    operations: dict[str, float] = field(default_factory=_counts)
    bytes: dict[str, float] = field(default_factory=_counts)

    def add(self, other: Work, times: float) -> None:
        """Add what is done so many times."""
        self.ns += times * other.ns
        self.arithmetic_ns += times * other.arithmetic_ns
        for mine, more in ((self.operations, other.operations), (self.bytes, other.bytes)):
            for name, amount in more.items():
                mine[name] += times * amount


@dataclass
class KernelWork:
    """Calls of a kernel in a run, the most workers that share it, and the work of statements."""

    calls: float = 0.0
    share: int = 1
    statements: dict[str, Work] = field(default_factory=dict[str, Work])


def work(
    plan: Plan, profile: Profile, extents: Mapping[str, int], workers: int
) -> tuple[KernelWork, ...]:
    """The work of every kernel in a run with these extents; `TYPICAL_EXTENT` where one is missing.

    >>> import ostinato as ot
    >>> from ostinato.codegen.lowering.lower import lower
    >>> from ostinato.codegen.cpu.cpu_target import CPU
    >>> from ostinato.codegen.planning.plan import PlanOptions, plan
    >>> t = ot.dims("t")
    >>> made = plan(lower(ot.Program(y=ot.input("x", over=t) * 2.0).pdg), PlanOptions(CPU))
    >>> (found,) = work(made, Profile(), {"T": 1000}, 1)
    >>> {n: dict(w.operations) for n, w in found.statements.items()}
    {'y': {'elementwise': 1000.0}}
    """
    found = _Walk(plan, profile, workers)
    found.run(extents)
    return tuple(found.kernels)


class _Walk(Walk):
    """Adds up the leaves of a plan over its loops."""

    def __init__(self, plan: Plan, profile: Profile, workers: int) -> None:
        super().__init__(plan, profile, workers)
        self.kernels = [KernelWork() for _ in plan.kernels]

    def call(self, number: int, point: Point, times: float) -> None:
        kernel, into = self.plan.kernels[number], self.kernels[number]
        tiles, inner = 1, point
        if kernel.parallel is not None:
            tiles, inner = middle(kernel.parallel, point)
            self.needed.enter(kernel.parallel)
            steps = middle(kernel.along, inner)[0] if kernel.along else 1
            into.share = max(into.share, min(self.workers, tiles * steps))
        if kernel.sliced:
            into.share = max(into.share, min(self.workers, max(kernel.slices)))
        into.calls += times * tiles
        self.trees(kernel.body, inner, times * tiles, into.statements)

    def trees(
        self, trees: Sequence[Tree], point: Point, times: float, into: dict[str, Work]
    ) -> None:
        for tree in trees:
            if isinstance(tree, Loop):
                length, inner = middle(tree.span, point)
                if length:
                    self.needed.enter(tree.span)
                    self.trees(tree.body, inner, times * length, into)
                continue
            runs = times * self.needed.part(tree, point)
            for name, part in parts(tree):
                found = self.leaf(part, point)
                into.setdefault(name, Work()).add(found, runs)

    def leaf(self, leaf: Leaf, point: Point) -> Work:
        """What a leaf of one statement does at a point."""
        out = _Counts(self, point)
        match leaf:
            case Nest():
                clause = clause_at(leaf.conds, point)
                if clause is not None and leaf.moving(clause):
                    out.nest(leaf, self.plan.statements[leaf.statements[0]], clause)
            case Contraction():
                out.product(leaf, self.plan.statements[leaf.statement])
            case Sweep(name, rows):
                out.sweep(self.plan.statements[name], rows)
            case Fill(tensor):
                out.moved(tensor, positions(self.plan.statements[tensor].result_axes, point))
            case Calling():
                pass
            case unknown:
                assert_never(unknown)
        out.work.ns = self.leaves.time(leaf, point)
        return out.work


def parts(leaf: Leaf) -> list[tuple[str, Leaf]]:
    """A leaf as leaves of one statement each; epilogues stay with their product."""
    if not isinstance(leaf, Nest):
        return [(computed(leaf)[0], leaf)]
    return [
        (name, replace(leaf, statements=(name,), memory=leaf.memory & {name}))
        for name in leaf.statements
    ]


@dataclass
class _Counts:
    """Counts what one leaf does at a point."""

    walk: _Walk
    point: Point
    work: Work = field(default_factory=Work)
    seen: set[Value] = field(default_factory=set[Value])

    def nest(self, leaf: Nest, s: Statement, clause: int) -> None:
        loops = {a.index for a in leaf.axes}
        axes = (*leaf.axes, *(a for a in s.axes if a.index not in loops))
        elements = positions(axes, self.point)
        self.value(s.clauses[clause][1], axes, elements)
        if s.kind in ("fold", "matmul"):
            self.operate("elementwise", elements, self.walk.profile.step_ns, s.dtype)
        self.moved(s.name, positions(s.result_axes, self.point))

    def product(self, leaf: Contraction, s: Statement) -> None:
        m, n, k = (size_at(a, self.point) for a in (leaf.m, leaf.n, leaf.k))
        inside = positions(leaf.summed(s.reduced), self.point)
        times, k = positions(leaf.outer, self.point) / inside, k * inside
        best = min(self.walk.profile.multiply_ns) / 2
        self.operate("products", 2 * times * m * n * k, best, s.dtype)
        for load, size in zip(factors(s), (m * k, k * n), strict=True):
            self.moved(load.tensor, times * size)
        self.moved(s.name, times * m * n * (2 if leaf.accumulate else 1))
        kept = tuple(a for a in (*leaf.outer, leaf.m, leaf.n) if a is not None)
        for name in leaf.epilogues:
            value = self.walk.plan.statements[name].clauses[0][1]
            self.value(value, kept, times * m * n)
            self.moved(name, times * m * n)

    def sweep(self, s: Statement, rows: Sequence[Axis]) -> None:
        axes = (*rows, *(a for a in s.axes if a.index in s.reduced))
        elements = positions(axes, self.point)
        is_long = AXIS_FUNCTIONS[s.fold].work == "exponential"
        best = self.walk.cost.function_ns("exp" if is_long else "add")
        self.operate("functions" if is_long else "elementwise", elements, best, s.dtype)
        self.value(s.clauses[0][1], axes, 0.0)
        self.moved(s.name, positions(s.result_axes, self.point))

    def value(self, value: Value, axes: Sequence[Axis], elements: float) -> None:
        """Add what a value takes at so many elements, shared parts once."""
        if value in self.seen:
            return
        self.seen.add(value)
        for child in children(value):
            self.value(child, axes, elements)
        cost, profile = self.walk.cost, self.walk.profile
        match value:
            case Load():
                self.moved(value.tensor, positions(_named(value, axes), self.point))
            case Call(fn, _, dtype) if fn not in FREE:
                kind = "functions" if fn in profile.functions else "elementwise"
                self.operate(kind, elements, cost.function_ns(fn), dtype)
            case Draw(fn=fn, dtype=dtype):
                self.operate("draws", elements, cost.draw_ns(fn), dtype)
            case Choice(_, _, _, dtype):
                self.operate("elementwise", elements, profile.step_ns, dtype)
            case _:
                pass

    def operate(self, kind: str, count: float, best_ns: float, dtype: str) -> None:
        if count:
            self.work.operations[kind] += count
            self.work.arithmetic_ns += count * best_ns * self.walk.cost.wide(dtype)

    def moved(self, tensor: str, elements: float) -> None:
        """Add the bytes of so many elements, at the level that holds the whole tensor."""
        leaves, storage = self.walk.leaves, self.walk.plan.storage[tensor]
        if storage.place == "register" or not elements:
            return
        level = self.walk.cost.level(leaves.bytes(storage, self.point))
        if tensor in leaves.near:
            level = min(level, 1)
        self.work.bytes[LEVELS[level]] += elements * ITEM_BYTES[storage.dtype]


def _named(load: Load, axes: Iterable[Axis]) -> list[Axis]:
    """The axes along which a load reads other elements."""
    picked = {p.axis.index for p in load.picks}
    named = frozenset[Dim]().union(*(each.dims for each in (*load.dims, *load.axes)))
    if named & picked:
        return list(axes)
    return [a for a in axes if a.index in named]


def limit_ns(found: KernelWork, profile: Profile) -> float:
    """The least time of a kernel on this machine: its arithmetic, or the bytes of some level."""
    arithmetic = math.fsum(w.arithmetic_ns for w in found.statements.values())
    moved = _counts()
    for each in found.statements.values():
        for level, amount in each.bytes.items():
            moved[level] += amount
    rates: dict[str, float] = dict(zip(LEVELS, profile.byte_ns, strict=True))
    traffic = max((amount * rates[level] for level, amount in moved.items()), default=0.0)
    return max(arithmetic, traffic) / found.share
