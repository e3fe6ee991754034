"""The proofs of the arena and of shared memory: tensors whose bytes overlap lose no value.

The arena, at the extents of a layout: two tensors may share bytes if no call of a kernel touches
both, if within one iteration of the loops around both the calls that touch one all come before
those that touch the other, with a barrier or on one worker, and if neither keeps a value from one
iteration to the next. Inputs share their bytes with nobody, results only with what is done before
them.

Tensors in one place: a copy within shared memory moves nothing. The slot holds the value already,
since the copy's own read finds it there, so only other points of a step write. For every read isl
shows, for all extents, that each write of another tensor of the same slot comes wholly before the
value, or only after the read, across workers by a barrier.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from ostinato.certificate.happens_before import Event, written
from ostinato.certificate.order import (
    Layout,
    Memory,
    Moment,
    Read,
    Slot,
    Step,
    Tensor,
    box_of,
    needed_points,
)
from ostinato.certificate.slots import Misplaced, Storage, Use
from ostinato.pdg import isl
from ostinato.pdg.condition import ALWAYS, Cond, equal, every, negation
from ostinato.pdg.index import Dim, Expr, Extent, evaluate, expr
from ostinato.pdg.isl import Relation


@dataclass(frozen=True)
class Block:
    """The bytes of a tensor, or of all that workers keep for themselves."""

    name: str
    start: int
    end: int

    def meets(self, other: Block) -> bool:
        return max(self.start, other.start) < min(self.end, other.end)


def check_places(storage: Storage, memory: Memory, layout: Layout, workers: int) -> str:
    """Prove that no tensor is lost to another one at the extents of a layout.

    Errors: Misplaced.
    """
    blocks = dict(_blocks(memory, layout))
    users = _Users(storage, memory)
    _check_local(users, memory, blocks, layout)
    shared = [blocks[t.name] for t in memory.tensors if t.place == "global" and not t.shares]
    part = _part_of_workers(memory, blocks, layout, workers)
    pairs = 0
    for first, second in _meeting([*shared, *part]):
        if not users.apart(first.name, second.name) and not users.apart(second.name, first.name):
            at = ", ".join(f"{name} = {n}" for name, n in layout.extents.items())
            raise Misplaced(f"`{first.name}` and `{second.name}` share bytes at {at}")
        pairs += 1
    return f"{pairs} pairs of tensors that share bytes are used in turns"


def _blocks(memory: Memory, layout: Layout) -> Iterator[tuple[str, Block]]:
    env: Mapping[Dim | Extent, int] = {Extent(name): n for name, n in layout.extents.items()}
    for t in memory.tensors:
        if t.place == "register" or t.shares:
            continue
        size = t.item
        for extent in (*(slot.extent for slot in t.slots), *t.axes):
            size *= max(0, evaluate(extent, env))
        start = layout.offsets.get(t.name, -1)
        if start < 0 or start % t.item or start + size > layout.total:
            raise Misplaced(f"`{t.name}` lies at byte {start} of {layout.total}")
        yield t.name, Block(t.name, start, start + size)


def _part_of_workers(
    memory: Memory, blocks: Mapping[str, Block], layout: Layout, workers: int
) -> list[Block]:
    """The bytes of what workers keep for themselves, one part behind the other."""
    local = _local(memory, blocks)
    if not local:
        return []
    start, end = min(b.start for b in local), max(b.end for b in local)
    last = end + layout.stride * (workers - 1)
    if end - start > layout.stride or last > layout.total:
        raise Misplaced("the parts of two workers overlap, or leave the arena")
    return [Block("", start, last)]


def _local(memory: Memory, blocks: Mapping[str, Block]) -> list[Block]:
    return [blocks[t.name] for t in memory.tensors if t.place == "local" and not t.shares]


def _meeting(blocks: Sequence[Block]) -> Iterator[tuple[Block, Block]]:
    """Pairs of blocks that share bytes."""
    open_: list[Block] = []
    for block in sorted(blocks, key=lambda b: b.start):
        open_ = [other for other in open_ if other.end > block.start]
        yield from ((other, block) for other in open_ if other.meets(block))
        open_.append(block)


def _check_local(
    users: _Users, memory: Memory, blocks: Mapping[str, Block], layout: Layout
) -> None:
    """What workers keep for themselves in one call does not overlap."""
    for first, second in _meeting(_local(memory, blocks)):
        if users.calls(first.name) & users.calls(second.name):
            raise Misplaced(f"`{first.name}` and `{second.name}` of a worker share bytes")


class _Users:
    """Who touches a tensor, when, and whether it keeps a value for the next iteration of a loop."""

    def __init__(self, storage: Storage, memory: Memory) -> None:
        self.waits = storage.waits
        self.given, self.kept = frozenset(memory.given), frozenset(memory.kept)
        self.uses: dict[str, list[Use]] = {}
        for use in storage.uses():
            self.uses.setdefault(use.tensor.owner, []).append(use)
        self.steps: dict[str, list[Step]] = {}
        for t in memory.tensors:
            if t.of in storage.steps:
                self.steps.setdefault(t.owner, []).append(storage.steps[t.of])
        self.events = {t.name: self._touching(storage, t.name) for t in memory.tensors}

    def _touching(self, storage: Storage, name: str) -> tuple[Event, ...]:
        """One event for every call that touches a tensor, or what shares its place."""
        found = [written(step) for step in self.steps.get(name, ())]
        if name in storage.begun:
            found.append(storage.begun[name])
        found += [use.reader for use in self.uses.get(name, ())]
        return tuple({e.time[: e.call]: e for e in found}.values())

    def calls(self, name: str) -> set[tuple[Moment, ...]]:
        return {e.time[: e.call] for e in self.events[name]}

    def apart(self, first: str, second: str) -> bool:
        """Whether all that touches the first tensor is done before the second one is touched."""
        if not first or not second or {first, second} & self.given or first in self.kept:
            return False
        if self.calls(first) & self.calls(second):
            return False
        a, b = self.events[first], self.events[second]
        around = _common([e.time[: e.call] for e in (*a, *b)])
        loops = [t for t in around if isinstance(t, Dim)]
        if loops and (second in self.kept or not self._stays_inside(first, second, loops)):
            return False
        turns = [around.index(loops[-1])] if loops else []
        return all(self._in_order(x, y, len(around)) for x in a for y in b) and all(
            self._meet(y, x, level) for level in turns for x in a for y in b
        )

    def _stays_inside(self, first: str, second: str, loops: Sequence[Dim]) -> bool:
        """Whether two tensors keep nothing from one iteration of some loops to the next."""
        names = (first, second)
        uses = (use for name in names for use in self.uses.get(name, ()))
        inside = all(set(loops) <= set(step.kept) for name in names for step in self.steps[name])
        return inside and all(use.gap(dim) == 0 for use in uses for dim in loops)

    def _in_order(self, x: Event, y: Event, level: int) -> bool:
        """Whether a call comes before another one and both are not at once, in every iteration."""
        one, two = x.time[level], y.time[level]
        is_before = isinstance(one, int) and isinstance(two, int) and one < two
        return is_before and self._meet(x, y, level)

    def _meet(self, x: Event, y: Event, level: int) -> bool:
        alone = x.worker == y.worker == ()
        return alone or self.waits.part(x, y, level)


def _common(times: Sequence[tuple[Moment, ...]]) -> list[Moment]:
    """The beginning that all times share."""
    out: list[Moment] = []
    for moments in zip(*times, strict=False):
        if any(m != moments[0] for m in moments):
            break
        out.append(moments[0])
    return out


def check_shared(storage: Storage, held: Sequence[str]) -> str:
    """Prove that no tensor is lost to another one in the same place; ``held`` ones share none.

    Errors: Misplaced.
    """
    members: dict[str, list[Tensor]] = {}
    for name in held:
        if name in storage.steps and storage.steps[name].asked != ALWAYS:
            raise Misplaced(f"`{name}` is given back, and not computed at every point")
    for tensor in storage.tensors.values():
        if tensor.shares:
            owner = _owner(storage, tensor, held)
            members.setdefault(owner.name, [owner]).append(tensor)
    for step in storage.steps.values():
        for move in step.moves:
            _check_move(storage, step, move)
    known: dict[Hashable, bool] = {}
    count = 0
    for use in storage.uses():
        place = use.tensor.owner
        for other in members.get(place, []):
            if other.name != use.tensor.name:
                _check_apart(storage, use, storage.steps[other.of], known)
        count += place in members
    return f"{count} values in {len(members)} places that tensors share"


def _owner(storage: Storage, tensor: Tensor, held: Sequence[str]) -> Tensor:
    owner = storage.tensors.get(tensor.shares)
    if owner is None or owner.shares or {owner.name, tensor.name} & set(held):
        raise Misplaced(f"`{tensor.name}` has no place of its own, nor that of another")
    for one in (owner, tensor):
        step = storage.steps.get(one.of)
        plain = step is not None and one.name == one.of and not step.folded
        if not plain or one.place == "register" or one.name in storage.begun:
            raise Misplaced(f"`{one.name}` may not share its place")
        if any(slot.kind == "circular" for slot in one.slots):
            raise Misplaced(f"`{one.name}` may not share its place")
    alike = (owner.place, owner.axes, owner.item) == (tensor.place, tensor.axes, tensor.item)
    if owner.place == "local":
        alike = alike and len({written(storage.steps[x.of]).host for x in (owner, tensor)}) == 1
    if not alike or _full(owner) != _full(tensor):
        raise Misplaced(f"`{tensor.name}` does not lie like `{owner.name}`, whose place it has")
    return owner


def _full(tensor: Tensor) -> tuple[Slot, ...]:
    """The dimensions of which every point has a slot of its own."""
    return tuple(slot for slot in tensor.slots if slot.kind == "full")


def _check_move(storage: Storage, step: Step, move: Read) -> None:
    """A copy that does nothing is of the same element of the same place."""
    mine, source = storage.tensors[step.name], storage.steps.get(move.of)
    place = mine.owner
    about = f"`{step.name}` does not copy `{move.of}`"
    if source is None or move not in step.reads:
        raise Misplaced(f"{about}: it does not read it")
    other = storage.tensors[move.of]
    if other.owner != place:
        raise Misplaced(f"{about}, which lies in another place")
    at = dict(zip(source.kept, move.at, strict=True))
    here = all(at[slot.dim] == expr(slot.dim) for slot in _full(other))
    if move.axes != tuple(map(expr, step.axes)) or not here:
        raise Misplaced(f"{about}, of which it reads another element")


def _check_apart(storage: Storage, use: Use, other: Step, known: dict[Hashable, bool]) -> None:
    """No write of another step of the same slot comes between a value and its read."""
    if _apart_evidently(use, other):
        return
    question = _question(use, other)
    if question not in known:
        known[question] = _disturbing(storage, use, other).is_empty()
    if not known[question]:
        raise Misplaced(f"{use} after `{other.name}` may have taken its place")


def _question(use: Use, other: Step) -> Hashable:
    events = tuple(
        (e.loops, e.time, e.call, e.cut)
        for e in (use.reader, use.begun, use.written, written(other))
    )
    read = use.read.at, use.read.when, use.read.ranges, use.along
    dims = use.reader.step.dims, use.written.step.dims, other.dims
    turns = _in_turn(use, other), _side_by_side(use.written.step, other)
    moves = tuple(move.when for move in other.moves)
    asked = use.reader.step.asked, other.asked, other.covered
    place = use.tensor.place, _full(use.tensor)
    return events, read, dims, turns, moves, asked, place, use.reader.step is other


def _disturbing(storage: Storage, use: Use, other: Step) -> Relation:
    """Reading points, and points of another step that may be written between value and read."""
    waits, source, event = storage.waits, use.written.step, written(other)
    needed = needed_points(use.reader.step, use.read, source)
    near = _side_by_side(source, other)
    writes = _same_slot(use, other) - waits.before(event, use.begun, near, True)
    in_turn = _in_turn(use, other)
    early = needed.then(writes) - waits.before(use.reader, event, in_turn, use.along).reverse()
    if in_turn and use.reader.step is other:
        early = early - isl.relation(other.dims, other.dims, [expr(d) for d in other.dims])
    return early


def _same_slot(use: Use, other: Step) -> Relation:
    """Points of a tensor, and points that another step writes in the same slot.

    Points of what a worker keeps for itself share it within one iteration of its loop.
    """
    step = use.written.step
    name = {d: Dim(d.name) for d in other.dims}
    renamed: dict[Dim, Expr] = {d: expr(x) for d, x in name.items()}
    same: list[Cond] = [equal(slot.dim, renamed[slot.dim]) for slot in _full(use.tensor)]
    same += [equal(d, renamed[d]) for d in use.own]
    same += [negation(move.when).at(renamed) for move in other.moves]
    same.append(every(other.asked, other.covered).at(renamed))
    sizes = [(name[x.dim], x.hi.at(renamed)) for x in other.loops]
    exprs = [renamed[d] for d in other.dims]
    found = isl.relation(step.dims, other.dims, exprs, every(*same), sizes)
    return found.intersect_in(box_of(step)).intersect_out(box_of(other))


def _in_turn(use: Use, other: Step) -> bool:
    """Whether a reader takes turns with another step, and reads the element that is its turn."""
    reader, axes = use.reader.step, use.read.axes
    if other.time[:-1] != reader.time[:-1] or len(other.axes) != len(axes):
        return False
    if not set(other.inner) <= set(other.axes):
        return False
    at = dict(zip(other.axes, axes, strict=True))
    return all(at[d] == expr(d) for d in other.axes if reader is other or d in other.inner)


def _side_by_side(step: Step, other: Step) -> bool:
    """Whether two steps write the same element in turns."""
    if step.time[:-1] != other.time[:-1] or len(step.axes) != len(other.axes):
        return False
    pairs = zip(step.axes, other.axes, strict=True)
    return all(a == b or not {a, b} & set(step.inner) for a, b in pairs) and (
        set(step.inner) <= set(step.axes)
    )


def _apart_evidently(use: Use, other: Step) -> bool:
    """Whether the times of value, write and read alone show it, all by one worker."""
    events: tuple[Event, ...] = (use.reader, use.begun, use.written, written(other))
    if use.tensor.place != "local" and any(e.worker != () for e in events):
        return False
    value, read, write = use.written.time, use.reader.time, other.time
    level = 0
    for a, b in zip(value, read, strict=False):
        if a != b:
            break
        if isinstance(a, Dim) and use.gap(a) != 0:
            return False
        level += 1
    if level >= min(len(value), len(read)):
        return False
    first, last = value[level], read[level]
    if not isinstance(first, int) or not isinstance(last, int) or first > last:
        return False
    if tuple(write[:level]) != tuple(value[:level]) or len(write) <= level:
        return True
    return _outside(write[level], first, last) and not _turns(use, other)


def _outside(here: Moment, first: int, last: int) -> bool:
    return isinstance(here, int) and (here < first or here > last)


def _turns(use: Use, other: Step) -> bool:
    """Whether a step runs in turns with the reader or with what writes the value."""
    return other.time[:-1] in (use.reader.time[:-1], use.written.time[:-1])
