"""The proof of storage: values reach those who read them, whichever worker runs first.

Two points of a tensor share a slot if they agree in every dimension that is stored in full, and
modulo the slots of a circular one. For every read isl shows, for all extents, that the value is
complete before it, across workers by a barrier, and that every other point of its slot is written
wholly before it or only after the read. What a worker keeps for itself never leaves the iteration
of the parallel loop, nor the call, in which it is made.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from ostinato.certificate.happens_before import (
    Cut,
    Event,
    Fork,
    Waits,
    filled,
    forks,
    is_steady,
    written,
)
from ostinato.certificate.order import (
    PLACES,
    SLOTS,
    Memory,
    Moment,
    Read,
    Slot,
    Step,
    Tensor,
    box_of,
    needed_points,
)
from ostinato.pdg import isl
from ostinato.pdg.condition import Cond, at_least, equal, every, some
from ostinato.pdg.index import Dim, Expr, expr, mod
from ostinato.pdg.isl import Relation


class Misplaced(Exception):
    """A value may be lost before it is read; the text names it."""


@dataclass(frozen=True)
class Use:
    """A read of a tensor: who reads, at which positions, and where the tensor is written."""

    reader: Event
    read: Read
    begun: Event
    written: Event
    tensor: Tensor

    def __str__(self) -> str:
        return f"`{self.reader.step.name}` reads `{self.tensor.name}`"

    @property
    def in_step(self) -> bool:
        """Whether reader and writer take turns, and what is read is the element in turn."""
        writer, reader = self.written.step, self.reader.step
        if self.written.time[:-1] != self.reader.time[:-1]:
            return False
        if not set(writer.inner) <= set(writer.axes) or len(writer.axes) != len(self.read.axes):
            return False
        here = (d for d in writer.axes if reader is writer or d in writer.inner)
        at = dict(zip(writer.axes, self.read.axes, strict=True))
        return all(at[d] == expr(d) for d in here)

    @property
    def along(self) -> bool:
        """Whether a reader that is cut reads within the part of the element that it computes."""
        step, axes, sizes = self.reader.step, self.read.axes, self.tensor.axes
        if step.cut is None or not axes or not (sizes[0].is_const and step.cut.is_const):
            return False
        here = expr(step.axes[0])
        if sizes[0] == step.cut:
            return axes[0] == here
        rows, rest = divmod(sizes[0].const, step.cut.const)
        inner = (axes[0] - here * rows).as_dim()  # one of the rows of a part
        return not rest and any(d == inner and size == expr(rows) for d, size in self.read.ranges)

    @property
    def own(self) -> list[Dim]:
        """The dimensions at one point of which a worker has its own memory for what is read."""
        if self.tensor.place != "local":
            return []
        call, worker = self.written.host
        loops = () if isinstance(worker, Cut) else worker
        return [t for t in call if isinstance(t, Dim)] + [loop.dim for loop in loops]

    def gap(self, dim: Dim) -> int | None:
        """The distance from what is read along a dimension, if it is the same at every point."""
        at = dict(zip(self.written.step.kept, self.read.at, strict=True))
        gap = expr(dim) - at[dim] if dim in at else None
        return gap.const if gap is not None and gap.is_const else None


@dataclass
class Storage:
    """The statements of a schedule by name, their accumulators, and their places."""

    steps: Mapping[str, Step]
    begun: Mapping[str, Event]
    tensors: Mapping[str, Tensor]
    waits: Waits
    known: dict[Hashable, str] = field(default_factory=dict[Hashable, str])

    def uses(self) -> Iterator[Use]:
        """Every read of a value that the schedule computes."""
        for step in self.steps.values():
            for read in step.reads:
                source = self.steps.get(read.of)
                if source is not None:
                    if len(source.kept) != len(read.at):
                        raise Misplaced(f"`{step.name}` reads `{read.of}` at other positions")
                    event = written(source)
                    begun = self.begun.get(read.of, event)
                    yield Use(written(step), read, begun, event, self.tensors[read.of])


Question = Callable[[Storage, Use], str]


def storage_of(steps: Sequence[Step], memory: Memory) -> Storage:
    """The storage of a schedule, well formed.

    Errors: Misplaced.
    """
    known = {step.name: step for step in steps}
    tensors = {tensor.name: tensor for tensor in memory.tensors}
    begun: dict[str, Event] = {}
    for fill in memory.fills:
        if fill.of not in known or fill.of in begun:
            raise Misplaced(f"`{fill.of}` is set to its unit twice, or is not computed")
        begun[fill.of] = filled(fill, known[fill.of])
    if len(tensors) < len(memory.tensors):
        raise Misplaced("a tensor has two places")
    for name in (*known, *memory.given, *memory.kept):
        if name not in tensors:
            raise Misplaced(f"`{name}` has no place")
    for name in (*memory.given, *memory.kept):
        whole = all(slot.kind == "full" for slot in tensors[name].slots)
        if not whole or tensors[name].place != "global":
            raise Misplaced(f"not every point of `{name}` is stored")
    for tensor in memory.tensors:
        if tensor.of not in known and tensor.name not in memory.given:
            raise Misplaced(f"nothing writes `{tensor.name}`")
        _check_form(tensor, known.get(tensor.of))
    calls = {step.time[: step.call] for step in steps}
    for time in memory.barriers:
        if any(time[:k] in calls for k in range(len(time))):
            raise Misplaced("a barrier stands inside of a call, of which workers do parts")
    for event in (*map(written, steps), *begun.values()):
        _check_cut(event, tensors[event.step.name])
    return Storage(known, begun, tensors, Waits(memory.barriers))


def _check_form(tensor: Tensor, step: Step | None) -> None:
    """A tensor has a slot for each of its dimensions, with room for every point."""
    kinds = {slot.kind for slot in tensor.slots}
    if tensor.place not in PLACES or not kinds <= set(SLOTS) or tensor.item < 1:
        raise Misplaced(f"`{tensor.name}` has no place of a known kind")
    if step is None or tensor.name != step.name:
        return
    if tuple(slot.dim for slot in tensor.slots) != step.kept:
        raise Misplaced(f"`{tensor.name}` does not have one slot for each of its dimensions")
    loops = {loop.dim: loop for loop in step.loops}
    for slot in tensor.slots:
        size = slot.extent
        if slot.kind != "full":
            if not size.is_const or size.const < 1 or (slot.kind == "one" and size.const != 1):
                raise Misplaced(f"`{tensor.name}` has {size} slots along `{slot.dim}`")
        elif size != loops[slot.dim].hi:
            outside = isl.condition_set(step.dims, at_least(slot.dim, size))
            if not (box_of(step) & outside).is_empty():
                raise Misplaced(f"`{tensor.name}` has {size} slots along `{slot.dim}`: too few")


def _check_cut(event: Event, tensor: Tensor) -> None:
    """What is cut is the first axis of what is computed, over which the leaf runs."""
    if event.cut is None:
        return
    step = event.step
    runs = bool(step.axes) and step.axes[0] in step.inner and tensor.axes[0] == event.cut
    equal_parts = event.cut.is_const and event.cut.const > 0
    shared = any(loop.parallel for loop in event.loops) or tensor.place == "local"
    if not runs or not equal_parts or shared:
        raise Misplaced(f"`{step.name}` is cut, but not into parts of its own")


def check_storage(storage: Storage) -> str:
    """Prove that every value reaches those who read it.

    Errors: Misplaced.
    """
    for name, begun in storage.begun.items():
        _check_fill(storage, name, begun)
    count = 0
    for use in storage.uses():
        _asked(storage, use, _arrives)
        if use.tensor.place == "register":
            _check_register(use)
        else:
            if use.tensor.place == "local":
                _check_local(use)
            if any(slot.kind != "full" for slot in use.tensor.slots):
                _asked(storage, use, _stays)
        count += 1
    barriers = sum(map(len, storage.waits.places.values()))
    return f"{count} values in their slots until they are read, with {barriers} barriers"


def _check_fill(storage: Storage, name: str, begun: Event) -> None:
    """An accumulator is set once for each point of the result, before anything is added."""
    step = storage.steps[name]
    if {loop.dim for loop in begun.loops} != set(step.kept):
        raise Misplaced(f"`{name}` is not set to its unit once for each of its points")
    bounds = {(x.dim, x.lo, x.hi) for x in begun.loops}
    if not all(x.dim in step.folded or (x.dim, x.lo, x.hi) in bounds for x in step.loops):
        raise Misplaced(f"the loops that set `{name}` to its unit are others than its own")
    identity = isl.relation(step.dims, step.dims, [expr(d) for d in step.dims])
    here = identity.intersect_in(box_of(step))
    before = storage.waits.before(begun, written(step), False, True)
    if not (here - before).is_empty():
        raise Misplaced(f"`{name}` is added to before it is set to its unit")


def _asked(storage: Storage, use: Use, ask: Question) -> None:
    """Ask once what is asked alike for many tensors, such as the parameters of a program."""
    alike = (ask.__name__, _question(use))
    if alike not in storage.known:
        storage.known[alike] = ask(storage, use)
    if storage.known[alike]:
        raise Misplaced(f"{use} {storage.known[alike]}")


def _question(use: Use) -> Hashable:
    slots = tuple((slot.dim, slot.kind, slot.extent) for slot in use.tensor.slots)
    events = tuple((e.loops, e.time, e.call, e.cut) for e in (use.reader, use.begun, use.written))
    read = use.read.at, use.read.when, use.read.ranges, use.along
    dims = use.reader.step.dims, use.written.step.dims, use.written.step.folded
    return slots, events, read, dims, use.reader.step.asked, use.tensor.place, use.in_step


def _arrives(storage: Storage, use: Use) -> str:
    """Whether a value is complete before it is read: "" or what is wrong."""
    if _arrives_evidently(storage, use):
        return ""
    needed = needed_points(use.reader.step, use.read, use.written.step)
    late = needed - storage.waits.before(use.written, use.reader, use.in_step, use.along)
    return "" if late.is_empty() else "before it is computed, or no barrier stands between"


def _arrives_evidently(storage: Storage, use: Use) -> bool:
    """Whether constant distances alone show that a value is complete before it is read."""
    for fork in forks(use.written, use.reader, use.in_step):
        if fork.loop is not None:
            gap = use.gap(fork.loop.dim)
            if gap is None:
                return False
            if gap == 0:
                continue
            if gap < 0 or fork.loop.reverse:
                return gap < 0 and fork.loop.reverse and _meet(storage, use, fork)
        return _meet(storage, use, fork)
    return False


def _meet(storage: Storage, use: Use, fork: Fork) -> bool:
    """Whether one worker writes and reads, or all wait for each other between."""
    if storage.waits.part(use.written, use.reader, fork.level):
        return True
    one, two = use.written.worker, use.reader.worker
    if isinstance(one, Cut) or isinstance(two, Cut):
        return one == two and use.along
    return one == two and is_steady(one) and all(use.gap(loop.dim) == 0 for loop in one)


def _check_register(use: Use) -> None:
    """A variable of a kernel's innermost code is read there only, at the point of its value."""
    same = use.reader.time[:-1] == use.written.time[:-1]
    if not same or any(use.gap(d) != 0 for d in use.written.step.kept):
        raise Misplaced(f"{use} outside of the loops that compute it")


def _check_local(use: Use) -> None:
    """A worker's own memory is used within one call, and one iteration of its parallel loop."""
    hosts = {e.host for e in (use.reader, use.begun, use.written)}
    if len(hosts) > 1 or not all(_is_same(use, d) for d in use.own):
        raise Misplaced(f"{use} in the memory of another worker, or of another call")


def _is_same(use: Use, dim: Dim) -> bool:
    """Whether reader and value are always at one point of a dimension."""
    if use.gap(dim) is not None:
        return use.gap(dim) == 0
    needed = needed_points(use.reader.step, use.read, use.written.step)
    return tuple(needed.distance(dim)) == (0, 0)


def _stays(storage: Storage, use: Use) -> str:
    """Whether no other value takes the slot of one that is still read: "" or what is wrong."""
    if _stays_evidently(storage, use):
        return ""
    waits, step = storage.waits, use.written.step
    needed = needed_points(use.reader.step, use.read, step)
    other = _same_slot(use) - waits.before(use.written, use.begun, False, True)
    done = waits.before(use.reader, use.begun, use.in_step, use.along)
    early = needed.then(other) - done.reverse()
    if use.in_step and use.reader.step is step and use.begun.time == use.written.time:
        early = early - isl.relation(step.dims, step.dims, [expr(d) for d in step.dims])
    return "" if early.is_empty() else "after another value may have taken its slot"


def _stays_evidently(storage: Storage, use: Use) -> bool:
    """Whether the loops around writer and reader alone show it.

    Where only loops around all three events reuse slots, and these are at one point of each of
    them, other values of the slot belong to other iterations of these loops.
    """
    around = _around(use)
    reused = [slot.dim for slot in use.tensor.slots if slot.kind != "full"]
    if any(use.gap(d) != 0 for d in around) or not set(reused) <= set(around):
        return False
    worker, waits = use.written.worker, storage.waits
    if use.tensor.place == "local":
        return True
    alone = len({e.worker for e in (use.reader, use.begun, use.written)}) == 1
    if isinstance(worker, Cut):  # who writes an element is the same at every point
        alone, worker = alone and use.along, ()
    alone = alone and is_steady(worker)
    for dim in reused:
        level = use.written.time.index(dim)
        before = around[: around.index(dim)]
        if any(loop.dim == dim for loop in worker):
            return False  # tiles are in no order
        mine = all(loop.dim in before or loop.dim not in reused for loop in worker)
        if not (alone and mine) and not (
            waits.part(use.written, use.begun, level) and waits.part(use.reader, use.begun, level)
        ):
            return False
    return True


def _around(use: Use) -> list[Dim]:
    """The loops around a reader and all that writes what it reads."""
    out: list[Dim] = []
    for moments in zip(*(e.time for e in (use.reader, use.begun, use.written)), strict=False):
        first: Moment = moments[0]
        if any(m != first for m in moments):
            break
        if isinstance(first, Dim):
            out.append(first)
    return out


def _same_slot(use: Use) -> Relation:
    """Points of a tensor, and the other points that share their slot.

    Points of what a worker keeps for itself share it within one iteration of its loop.
    """
    step = use.written.step
    other = {d: Dim(d.name) for d in step.dims}
    renamed: dict[Dim, Expr] = {d: expr(x) for d, x in other.items()}
    same = [_together(slot, expr(slot.dim) - other[slot.dim]) for slot in use.tensor.slots]
    same += [equal(d, other[d]) for d in use.own]
    gaps = [expr(d) - other[d] for d in step.kept]
    cond = every(*same, some(*(at_least(gap * k, 1) for gap in gaps for k in (1, -1))))
    sizes = [(other[x.dim], x.hi.at(renamed)) for x in step.loops]
    found = isl.relation(step.dims, step.dims, [renamed[d] for d in step.dims], cond, sizes)
    return found.intersect_in(box_of(step)).intersect_out(box_of(step))


def _together(slot: Slot, gap: Expr) -> Cond:
    """The condition that two points a distance apart share a slot along its dimension."""
    if slot.kind == "full":
        return equal(gap, 0)
    return equal(mod(gap, slot.extent.as_int()), 0)
