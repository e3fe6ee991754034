"""What a plan takes to run: its loops walked at the middle of every range.

A loop costs its body at the middle, times its length; one over tiles, of which some may be empty,
the mean of its body at some points. Time is the sum of starts, arithmetic,
traffic between memory and registers, and waiting; work that all workers share takes the longest
share. `ostinato.codegen.cost.leaf_cost` prices one leaf.

Operations that depend on each other cannot overlap, however many units the processor has: a step of
a loop waits for those on the way from what the step before computed to the next value of the same
tensor.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, assert_never

from ostinato.codegen.cost.communicated import middle, passing_ns
from ostinato.codegen.cost.leaf_cost import Leaves, Needed, Point
from ostinato.codegen.ir.tree import (
    Barrier,
    Call,
    DriverLoop,
    Kernel,
    Loop,
    Span,
    Step,
    Tree,
    computed_in,
    leaves,
)
from ostinato.codegen.loops.expression import ITEM_BYTES
from ostinato.machine.cost_model import CostModel
from ostinato.machine.profile import TYPICAL_EXTENT, Profile
from ostinato.pdg.index import Extent, evaluate
from ostinato.runtime.machine_code.ports import Field

if TYPE_CHECKING:
    from ostinato.codegen.planning.planned import Plan
from dataclasses import field

from ostinato.codegen.ir.system import Call as Applied
from ostinato.codegen.ir.system import Choice, Load, Statement, Value, children
from ostinato.codegen.ir.tree import Nest
from ostinato.pdg.index import Dim

SUMS = frozenset(("add", "sub"))


def waiting_ns(loop: Loop, statements: Mapping[str, Statement], cost: CostModel) -> float:
    """The longest way from a tensor's value in the step before to its value in this one.

    0.0 if no step of the loop needs the one before.
    """
    own = {name: statements[name] for name in computed_in(loop.body)}
    ways = _Ways(loop.dim, own, cost)
    for s in own.values():  # in the order in which they are computed
        ways.add(s)
    found = [ways.known[name].get(name, 0.0) for name in own]
    nests = (leaf for leaf, _, _ in leaves(loop.body) if isinstance(leaf, Nest))
    added = (name for leaf in nests for name in leaf.memory)
    found += [ways.fold(own[name]) for name in added]
    return max(found, default=0.0)


@dataclass
class _Ways:
    """Nanoseconds of the longest ways to a value, by the tensor whose last value they begin at."""

    dim: Dim
    own: Mapping[str, Statement]
    cost: CostModel
    known: dict[str, Mapping[str, float]] = field(default_factory=dict[str, Mapping[str, float]])

    def add(self, s: Statement) -> None:
        """The ways to what a statement computes from what was computed before."""
        longest = _longest(*(self.value(value, {}) for _, value in s.clauses))
        added = self.fold(s) if s.kind == "fold" else 0.0
        self.known[s.name] = {source: ns + added for source, ns in longest.items()}

    def fold(self, s: Statement) -> float:
        """Taking one more value into what a fold has so far."""
        return self.cost.fold_wait_ns(s.fold)

    def value(self, value: Value, seen: dict[Value, Mapping[str, float]]) -> Mapping[str, float]:
        if isinstance(value, Load):
            return self.load(value)
        if value not in seen:
            ways = [(child, self.value(child, seen)) for child in children(value)]
            seen[value] = _longest(
                *({x: ns + self.step(value, child) for x, ns in way.items()} for child, way in ways)
            )
        return seen[value]

    def load(self, load: Load) -> Mapping[str, float]:
        if load.tensor not in self.own:
            return {}
        if any(self.dim in at.dims and at.as_dim() is None for at in load.dims):
            return {load.tensor: 0.0}
        return self.known.get(load.tensor, {})

    def step(self, value: Value, child: Value) -> float:
        """What one operation waits for an operand; a sum is one operation with its product."""
        match value, child:
            case Applied(fn), Applied("mul") if fn in SUMS:
                return 0.0
            case Applied(fn), _:
                return self.cost.wait_ns(fn)
            case Choice(), _:
                return self.cost.wait_ns("where")
            case _:
                return 0.0


def _longest(*ways: Mapping[str, float]) -> Mapping[str, float]:
    out: dict[str, float] = {}
    for way in ways:
        for source, ns in way.items():
            out[source] = max(ns, out.get(source, 0.0))
    return out


LARGE = 1 << 18  # bytes of an argument or a result from which it may stay where it is
SOME = 4  # points of a loop whose extent is defined


@dataclass(frozen=True, slots=True)
class Estimate:
    """Nanoseconds of a run: of every kernel by name, of waiting, of moving arguments and results.

    ``passing`` is waiting for what other workers wrote, ``run`` what any run takes.
    """

    kernels: Mapping[str, float]
    barriers: float
    passing: float
    arguments: float
    run: float

    @property
    def total(self) -> float:
        shared = self.barriers + self.passing
        return sum(self.kernels.values()) + shared + self.arguments + self.run


def estimate(plan: Plan, profile: Profile, extents: Mapping[str, int], workers: int) -> Estimate:
    """The predicted time of a run with these extents; a missing one counts as `TYPICAL_EXTENT`."""
    found = _Walk(plan, profile, workers)
    point = found.run(extents)
    ports = (*plan.inputs, *plan.outputs)
    copied = sum(_copied(plan, port, profile, point) for port in ports)
    return Estimate(
        {k.name: found.kernels.get(k.name, 0.0) for k in plan.kernels},
        found.barriers * found.cost.meeting_ns(workers),
        passing_ns(plan, profile, point, workers),
        copied,
        CostModel(profile).call_ns(workers),
    )


def predicted(
    plan: Plan, profile: Profile, extents: Mapping[str, int], workers: int
) -> dict[str, float]:
    """An estimate as named numbers: the whole first, then its parts."""
    found = estimate(plan, profile, extents, workers)
    return {
        "predicted_ns": found.total,
        **{f"{name}_ns": taken for name, taken in found.kernels.items()},
        "barriers_ns": found.barriers,
        "passing_ns": found.passing,
        "arguments_ns": found.arguments,
        "call_ns": found.run,
    }


def _copied(plan: Plan, port: Field, profile: Profile, point: Point) -> float:
    """Copying an argument or a result; one that lies in another order is gathered by strides."""
    if _stays(plan, port, point):
        return 0.0
    size = _bytes(port, point)
    turned = 0.0 if port.is_in_order else size / ITEM_BYTES[port.dtype] * profile.copy_ns
    return 2 * size * CostModel(profile).move_ns(size) + turned


def _stays(plan: Plan, port: Field, point: Point) -> bool:
    """Whether compiled code reads an argument, or writes a result, where the user has it."""
    both = [other.tensor for other in (*plan.inputs, *plan.outputs)]
    is_alone = both.count(port.tensor) == 1
    return is_alone and port.is_as_stored(point) and _bytes(port, point) >= LARGE


def _bytes(port: Field, point: Point) -> float:
    """The bytes of an argument or a result."""
    elements = math.prod(max(0, evaluate(size, point)) for size in port.shape)
    return float(elements * ITEM_BYTES[port.dtype])


class Walk(ABC):
    """Goes over the calls of a driver, with how often each is made, and counts barriers."""

    def __init__(self, plan: Plan, profile: Profile, workers: int) -> None:
        self.plan, self.profile, self.workers = plan, profile, workers
        self.cost = CostModel(profile)
        facts = plan.statements, plan.storage, self.cost, plan.keeps_parts
        self.leaves = Leaves(*facts, plan.limits)
        self.needed = Needed(plan.guards)
        self.barriers = 0.0

    def run(self, extents: Mapping[str, int]) -> Point:
        """Walk all of a run with these extents; a missing one counts as `TYPICAL_EXTENT`."""
        point: Point = {Extent(n): extents.get(n, TYPICAL_EXTENT) for n in self.plan.extents}
        self.steps(self.plan.driver, point, 1.0)
        return point

    def steps(self, steps: Sequence[Step], point: Point, times: float) -> None:
        """Walk steps at a point that are done so many times."""
        for step in steps:
            match step:
                case Barrier():
                    self.barriers += times
                case DriverLoop(span, _, outermost, body):
                    length, inner = middle(span, point)
                    self.barriers += outermost * times * length
                    self.needed.enter(span)
                    self.steps(body, inner, times * length)
                case Call(number):
                    self.leaves.near = frozenset(computed_in(self.plan.kernels[number].body))
                    self.call(number, point, times)
                case unknown:
                    assert_never(unknown)

    @abstractmethod
    def call(self, number: int, point: Point, times: float) -> None:
        """Note the calls of a kernel at a point."""


class _Walk(Walk):
    """Sums up kernels over the driver."""

    def __init__(self, plan: Plan, profile: Profile, workers: int) -> None:
        super().__init__(plan, profile, workers)
        self.kernels: dict[str, float] = {}

    def call(self, number: int, point: Point, times: float) -> None:
        kernel = self.plan.kernels[number]
        taken = times * self.taken(kernel, point)
        self.kernels[kernel.name] = self.kernels.get(kernel.name, 0.0) + taken

    def taken(self, kernel: Kernel, point: Point) -> float:
        """The time until the last worker is done with a kernel."""
        start = self.profile.kernel_ns
        if kernel.parallel is None:
            parts = min(self.workers, max(kernel.slices)) if kernel.sliced else 1
            if self.has_many_lanes(kernel, point):
                parts = self.workers
            return start + self.trees(kernel.body, point) / parts
        tiles, inner = middle(kernel.parallel, point)
        self.needed.enter(kernel.parallel)
        rounds = -(-tiles // self.workers)
        steps = middle(kernel.along, inner)[0] if kernel.along else 1
        together = max(1, min(steps, self.workers // max(1, tiles)))
        return rounds * (start + self.trees(kernel.body, inner) / together)

    def has_many_lanes(self, kernel: Kernel, point: Point) -> bool:
        """Whether all workers share what a kernel does alone: some targets see to that.

        They decide so before a run, by axes of one size.
        """
        shared = self.plan.target.shared_lanes
        statements = map(self.plan.statements.__getitem__, computed_in(kernel.body))
        axes = (a for s in statements for a in s.axes)
        sizes = (a.size for a in axes if not a.size.dims)
        return bool(shared) and any(evaluate(size, point) > shared for size in sizes)

    def trees(self, trees: Sequence[Tree], point: Point) -> float:
        total = 0.0
        for tree in trees:
            if isinstance(tree, Loop):
                total += self.loop(tree, point)
            else:
                part = self.needed.part(tree, point)
                total += part * self.leaves.time(tree, point) if part else 0.0
        return total

    def loop(self, loop: Loop, point: Point) -> float:
        length, inner = middle(loop.span, point)
        part = self.needed.part(loop, point) if length else 0.0
        if not part:
            return 0.0
        self.needed.enter(loop.span)
        steps = _some(loop.span, inner, length)
        times = sum(self.trees(loop.body, at) for at in steps) / len(steps)
        waiting = waiting_ns(loop, self.plan.statements, self.cost)
        return length * max(part * self.profile.point_ns + times, part * waiting)


def _some(span: Span, middle: Point, length: int) -> list[Point]:
    """The middle of a loop; a few points where its extent is defined: some tiles are empty."""
    if span.dim.size is None:
        return [middle]
    first, some = evaluate(span.lo, middle), min(SOME, length)
    return [{**middle, span.dim: first + (2 * k + 1) * length // (2 * some)} for k in range(some)]
