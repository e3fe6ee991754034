"""The steps of a plan: where each statement runs, what it reads, and where its values live."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import assert_never

from ostinato.certificate.order import (
    Fill,
    Layout,
    Loop,
    Memory,
    Moment,
    Passage,
    Read,
    Slot,
    Step,
    Tensor,
    Timeline,
)
from ostinato.codegen.ir.system import Load, Statement
from ostinato.codegen.ir.tree import (
    Barrier,
    Calling,
    Contraction,
    DriverLoop,
    Kernel,
    Leaf,
    Nest,
    Span,
    Sweep,
    computed,
    leaves,
)
from ostinato.codegen.ir.tree import Call as KernelCall
from ostinato.codegen.ir.tree import Fill as TreeFill
from ostinato.codegen.ir.tree import Loop as TreeLoop
from ostinato.codegen.ir.tree import Step as DriverStep
from ostinato.codegen.ir.tree import Time as TreeTime
from ostinato.codegen.ir.values import alone, guarded_loads
from ostinato.codegen.loops.expression import ITEM_BYTES
from ostinato.codegen.memory.storage import Storage, scratch
from ostinato.codegen.planning.arena import layout
from ostinato.codegen.planning.planned import Plan
from ostinato.pdg.bounds import simplified
from ostinato.pdg.condition import ALWAYS, Cond, some
from ostinato.pdg.index import Dim, Expr
from ostinato.runtime.machine_code.arena_layout import Passage as Moved


@dataclass(frozen=True, slots=True)
class _Here:
    """A place in the driver or a kernel."""

    loops: tuple[Loop, ...] = ()
    time: tuple[Moment, ...] = ()
    call: int = 0

    def at(self, place: int) -> _Here:
        return replace(self, time=(*self.time, place))

    def inside(self, span: Span, reverse: bool, parallel: bool) -> _Here:
        loop = Loop(span.dim, span.lo, span.hi, reverse, parallel)
        return replace(self, loops=(*self.loops, loop), time=(*self.time, span.dim))


def timeline_of(plan: Plan) -> Timeline:
    """Every statement that a plan computes, in the order of its text, and where its values live."""
    found = tuple(_moments(plan, plan.driver, _Here()))
    inputs = tuple(port.tensor for port in plan.inputs)
    names = (*plan.storage,)
    owners = {beside.tensor: of for of, beside in _scratches(plan)}
    memory = Memory(
        tuple(time for time in found if isinstance(time, tuple)),
        tuple(fill for fill in found if isinstance(fill, Fill)),
        tuple(_tensor(plan.storage[name], owners.get(name, name)) for name in names),
        tuple(n for n in names if plan.statements[owners.get(n, n)].kind == "input"),
        tuple(dict.fromkeys(p.tensor for p in plan.outputs if p.tensor not in inputs)),
    )
    return Timeline(tuple(step for step in found if isinstance(step, Step)), memory)


def layouts_of(
    plan: Plan, workers: int, extents: Sequence[Mapping[str, int]], most_in_memory: int
) -> Iterator[Layout]:
    """The arena of a plan at given extents."""
    for given in extents:
        made = layout(plan, given, workers, most_in_memory)
        offsets = {n: made.offsets[n] for n in plan.storage if n in made.offsets}
        known = {name: given[name] for name in plan.extents}
        passages = tuple(_passages(plan, made.moves.passages))
        sizes = made.local_stride, made.total_bytes, made.memory_bytes, made.moves.room_bytes
        yield Layout(known, offsets, *sizes, passages)


def _passages(plan: Plan, found: Sequence[Moved]) -> Iterator[Passage]:
    """Transfers with the times of the calls that they belong to, or of the loop of the driver."""
    calls = dict(_calls(plan.driver, _Here()))
    for p in found:
        visited, room = tuple(place for place, _ in p.visits), p.room
        call = calls[p.kernel][:-1] if p.around else calls[p.kernel]
        here = p.tensor, call, visited, p.copies, p.slot, p.rows
        sizes = room.steps, room.step_bytes, room.block_steps, room.blocks
        yield Passage(*here, *sizes, p.parts)


def _calls(steps: Sequence[DriverStep], here: _Here) -> Iterator[tuple[int, tuple[Moment, ...]]]:
    """The time at which each kernel is called."""
    for place, step in enumerate(steps):
        if isinstance(step, KernelCall):
            yield step.kernel, here.at(place).time
        elif isinstance(step, DriverLoop):
            yield from _calls(step.body, here.at(place).inside(step.span, step.reverse, False))


def _scratches(plan: Plan) -> Iterator[tuple[str, Storage]]:
    """The scratch memory of statements."""
    for kernel in plan.kernels:
        for leaf, _, _ in leaves(kernel.body):
            beside = scratch(leaf, plan.storage)
            if beside is not None:
                yield computed(leaf)[0], beside


def _tensor(s: Storage, of: str) -> Tensor:
    slots = tuple(Slot(slot.dim, slot.kind, slot.extent) for slot in s.slots)
    pads, item = tuple(a.pad for a in s.axes), ITEM_BYTES[s.dtype]
    return Tensor(s.tensor, of, s.place, slots, pads, item, s.shares)


def _moments(
    plan: Plan, steps: Sequence[DriverStep], here: _Here
) -> Iterator[Step | Fill | tuple[Moment, ...]]:
    """Statements, fills and the times of barriers."""
    for place, step in enumerate(steps):
        match step:
            case Barrier():
                yield here.at(place).time
            case DriverLoop(span, reverse, _, body):
                inner = here.at(place).inside(span, reverse, False)
                yield from _moments(plan, body, inner)
            case KernelCall(number):
                yield from _called(plan, plan.kernels[number], here.at(place))
            case unknown:
                assert_never(unknown)


def _called(plan: Plan, kernel: Kernel, here: _Here) -> Iterator[Step | Fill]:
    here = replace(here, call=len(here.time))
    if kernel.parallel is not None:
        here = here.inside(kernel.parallel, False, True)
    body = kernel.body
    if kernel.along is not None and isinstance(body[0], TreeLoop):
        here, body = here.inside(kernel.along, False, True), body[0].body
    for leaf, _, time in leaves(body):
        at = _timed(here, time)
        if isinstance(leaf, TreeFill):
            cut = _cut(plan.statements[leaf.tensor], kernel)
            yield Fill(leaf.tensor, at.loops, at.time, at.call, cut)
            continue
        for k, name in enumerate(computed(leaf)):
            found = _step(plan.statements[name], at.at(k), leaf)
            cut, asked = _cut(plan.statements[name], kernel), plan.only.get(name, ALWAYS)
            covered = _covered(plan.statements[name]) if isinstance(leaf, Nest) else ALWAYS
            yield replace(found, cut=cut, asked=asked, covered=covered)


def _covered(s: Statement) -> Cond:
    """Where a clause of a map says what is stored."""
    return simplified(some(*(cond for cond, _ in s.clauses))) if s.kind == "map" else ALWAYS


def _cut(statement: Statement, kernel: Kernel) -> Expr | None:
    """The size of the axis of which every worker computes a part."""
    return statement.result_axes[0].pad if kernel.sliced else None


def _timed(here: _Here, time: TreeTime) -> _Here:
    for part in time:
        if isinstance(part, TreeLoop):
            here = here.inside(part.span, part.reverse, part.parallel)
        else:
            here = here.at(part)
    return here


def _inner(leaf: Leaf) -> tuple[Dim, ...]:
    """The axes that a leaf loops over."""
    match leaf:
        case Nest(_, axes):
            return tuple(axis.index for axis in axes)
        case Contraction():
            found = (*leaf.outer, leaf.m, leaf.n)
            return tuple(axis.index for axis in found if axis is not None)
        case Sweep(_, rows):
            return tuple(axis.index for axis in rows)
        case TreeFill() | Calling():
            return ()
        case unknown:
            assert_never(unknown)


def _step(statement: Statement, here: _Here, leaf: Leaf) -> Step:
    dims = statement.dims
    folded = tuple(d for d in dims if d in statement.reduced)
    reads = tuple(
        dict.fromkeys(_read(statement, load, cond) for load, cond in guarded_loads(statement))
    )
    axes = tuple(axis.index for axis in statement.result_axes)
    inner, moves = _inner(leaf), tuple(_moves(statement, leaf))
    place = here.loops, here.time, here.call
    return Step(statement.name, dims, folded, *place, axes, inner, reads, moves)


def _moves(statement: Statement, leaf: Leaf) -> Iterator[Read]:
    """The reads of clauses that copy what is in place."""
    still = leaf.still if isinstance(leaf, Nest) else frozenset[tuple[str, int]]()
    for k, clause in enumerate(alone(statement)):
        if (statement.name, k) in still:
            yield from (_read(statement, load, cond) for load, cond in guarded_loads(clause))


def _read(statement: Statement, load: Load, cond: Cond) -> Read:
    """A load with the ranges of the indices that its positions and its condition mention."""
    axes = (*statement.axes, *(pick.axis for pick in load.picks))
    sizes = {axis.index: axis.size for axis in axes}
    open_ = {d for e in (*load.dims, *load.axes) for d in e.dims}
    open_ |= cond.dims
    ranges: dict[Dim, Expr] = {}
    while open_:
        found = {d: sizes[d] for d in sizes if d in open_ and d not in ranges}
        ranges.update(found)
        open_ = {d for size in found.values() for d in size.dims}
    ordered = tuple((d, ranges[d]) for d in sizes if d in ranges)
    return Read(load.tensor, load.dims, load.axes, cond, ordered)
