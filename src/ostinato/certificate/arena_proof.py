"""The proof of the arena: tensors whose bytes overlap are never in use at the same time.

At the extents of a layout. Two tensors may share bytes if no call of a kernel touches both, if
within one iteration of the loops around both the calls that touch one all come before those that
touch the other, with a barrier or on one worker, and if neither keeps a value from one iteration to
the next. Inputs share their bytes with nobody, results only with what is done before them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from ostinato.certificate.happens_before import Event, written
from ostinato.certificate.order import Layout, Memory, Moment, Step, Tensor
from ostinato.certificate.slots import Misplaced, Storage, Use
from ostinato.pdg.index import Dim, Extent, evaluate


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
    local = [blocks[t.name] for t in memory.tensors if t.place == "local"]
    if not local:
        return []
    start, end = min(b.start for b in local), max(b.end for b in local)
    last = end + layout.stride * (workers - 1)
    if end - start > layout.stride or last > layout.total:
        raise Misplaced("the parts of two workers overlap, or leave the arena")
    return [Block("", start, last)]


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
    local = [blocks[t.name] for t in memory.tensors if t.place == "local"]
    for first, second in _meeting(local):
        if users.calls(first.name) & users.calls(second.name):
            raise Misplaced(f"`{first.name}` and `{second.name}` of a worker share bytes")


class _Users:
    """Who touches a tensor, when, and whether it keeps a value for the next iteration of a loop."""

    def __init__(self, storage: Storage, memory: Memory) -> None:
        self.waits = storage.waits
        self.given, self.kept = frozenset(memory.given), frozenset(memory.kept)
        self.uses: dict[str, list[Use]] = {}
        for use in storage.uses():
            self.uses.setdefault(_owner(use.tensor), []).append(use)
        self.steps: dict[str, list[Step]] = {}
        for t in memory.tensors:
            if t.of in storage.steps:
                self.steps.setdefault(_owner(t), []).append(storage.steps[t.of])
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


def _owner(tensor: Tensor) -> str:
    return tensor.shares or tensor.name


def _common(times: Sequence[tuple[Moment, ...]]) -> list[Moment]:
    """The beginning that all times share."""
    out: list[Moment] = []
    for moments in zip(*times, strict=False):
        if any(m != moments[0] for m in moments):
            break
        out.append(moments[0])
    return out
