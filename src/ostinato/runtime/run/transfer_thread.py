"""The thread that moves blocks of histories between memory and a file, as the plan says.

A kernel tells at which block of a walk it arrives. Its thread then issues the transfers of the
points up to that one, and waits until those have ended that are due there. Transfers are done one
after the other, in the order of their issue, by one thread, while kernels compute.

What several workers go through at once, each by its own call, stays until none of them uses it. A
block may have several rows, which are moved one after the other.

A history is mapped: to move a block out is to take its pages out of the memory of the process,
which the system keeps in its cache or writes to the disk; to move it back is to map them again. So
memory holds no more than the plan has room for, and a read that no plan foresaw is late, but right.
Pages beside a block leave with it and come back when they are touched, at most one on each side.
"""

from __future__ import annotations

import ctypes
import mmap
import threading
import weakref
from bisect import bisect_right
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import accumulate
from queue import SimpleQueue
from typing import Any

import numpy as np
import numpy.typing as npt

from ostinato.runtime.machine_code.arena_layout import Layout, Passage
from ostinato.runtime.run.spill_file import bring, first_byte, forget

PAGE = mmap.PAGESIZE
ANYONE = 0  # instead of a thread
AROUND = 16 * PAGE  # the system maps so much around a page that is read
_ARRIVED = ctypes.CFUNCTYPE(None, *[ctypes.c_int64] * 4)
_Range = tuple[int, int]  # the first address, the one behind
_Order = tuple[str, tuple[_Range, ...], threading.Event]


@dataclass
class _Call:
    """A call under way: where its history starts, what it issues from now on, its last point."""

    start: int
    rest: Iterator[tuple[str, int, int, int]]
    next: tuple[str, int, int, int] | None = None
    point: int = -1
    inside: set[int] = field(default_factory=set[int])  # blocks
    ended: dict[int, list[threading.Event]] = field(
        default_factory=dict[int, list[threading.Event]]
    )


class _Walk:
    """A walk at the extents of a run."""

    def __init__(self, passage: Passage, item: int) -> None:
        """Number the points; an element has so many bytes."""
        self.passage, self.item = passage, item
        self._parts = [part for part in passage.parts if part.points]
        counts = [part.times * len(part.points) for part in self._parts]
        self._starts = [0, *accumulate(counts)]
        self.end = self._starts[-1]
        visits = (visit for part in self._parts for visit, _ in part.points)
        self.last = max(visits, default=-1)
        self.size = passage.room.steps * passage.room.step_bytes

    def point(self, visit: int, block: int, before: int) -> int:
        """The next point behind one at which a visit arrives at a block, or this one if none is.

        Mostly it is the very next; a loop that ends early leaves some out.
        """
        if visit > self.last:
            return self.end
        at, wanted = before + 1, (visit, block)
        while at < self.end:
            k = bisect_right(self._starts, at) - 1
            points, behind = self._parts[k].points, self._starts[k + 1]
            first = (at - self._starts[k]) % len(points)
            if points[first] == wanted:
                return at
            turn = (*points[first:], *points[:first])[: behind - at]
            if wanted in turn:
                return at + turn.index(wanted)
            at = behind
        return before

    def transfers(self) -> Iterator[tuple[str, int, int, int]]:
        """All transfers of a call, with the points of issue and end."""
        first = 0
        for part in self.passage.parts:
            for _ in range(part.times):
                for way, block, issued, due in part.transfers:
                    yield way, block, first + issued, first + due
                first += len(part.points)

    def bytes_of(self, block: int) -> tuple[int, int]:
        """The first byte of a block and the one behind it, in the history."""
        each = self.passage.room.block_steps * self.passage.room.step_bytes
        return block * each, min(self.size, (block + 1) * each)


class TransferThread:
    """The transfers of the runs that one arena serves, one after the other.

    The thread ends when nobody refers to this any more.
    """

    def __init__(
        self, layout: Layout, arena: npt.NDArray[np.uint8], items: Mapping[str, int]
    ) -> None:
        """Start the thread. ``items`` are the bytes of an element of each tensor."""
        self._arena = arena.ctypes.data
        self._file = self._arena + first_byte(layout.memory_bytes), self._arena + arena.size
        self._walks = {p.walk: _Walk(p, items[p.tensor]) for p in layout.moves.passages}
        self._ends = {n: self._arena + at + size for n, at, size, *_ in layout.blocks}
        self._calls: dict[tuple[int, int], dict[int, _Call]] = {}  # of each thread
        self._issuing = threading.Lock()
        self._orders: SimpleQueue[_Order | None] = SimpleQueue()
        self._told = _arrived_at(weakref.ref(self))  # kept: C knows its address only
        self.failure: BaseException | None = None
        self.count = 0  # of transfers in a run
        target, orders = _work, (self._orders, self._file[0])
        threading.Thread(target=target, args=orders, daemon=True, name="ostinato-transfers").start()
        weakref.finalize(self, self._orders.put, None)

    def begin(self, words: npt.NDArray[np.int64]) -> None:
        """Let a run begin, whose arguments are written.

        The words are those by which kernels find the function and the steps of a block.
        """
        self._calls.clear()
        self.failure, self.count = None, 0
        address = ctypes.cast(self._told, ctypes.c_void_p).value
        assert address is not None, "a function has an address"
        words[0] = address
        for number, walk in self._walks.items():
            words[1 + number] = walk.passage.room.block_steps
        self.rest()

    def rest(self) -> None:
        """Take all of the file out of the memory of the process."""
        forget(self._file[0], self._file[1] - self._file[0], self._file[0])

    def arrived(self, number: int, visit: int, step: int, start: int) -> None:
        """Issue the transfers of an arrival, and wait for those that are due."""
        try:
            self._arrive(self._walks[number], visit, step, start)
        except BaseException as failure:  # nothing may pass through compiled code
            self.failure = failure

    def _arrive(self, walk: _Walk, visit: int, step: int, start: int) -> None:
        here = step // walk.passage.room.block_steps
        # what the driver does in a loop, any thread may, one after the other
        worker = ANYONE if walk.passage.around else threading.get_ident()
        with self._issuing:
            calls = self._calls.setdefault((walk.passage.walk, start), {})
            call = calls.get(worker)
            if call is None:
                call = _Call(self._arena + start * walk.item, walk.transfers())
                call.next = next(call.rest, None)
                calls[worker] = call
            point = walk.point(visit, here, call.point)
            if point <= call.point:
                return
            while call.next is not None and call.next[2] <= point:
                way, block, _, due = call.next
                ended = self._issue(walk, call, calls, way, block)
                call.ended.setdefault(due, []).append(ended)
                call.next = next(call.rest, None)
            call.point = point
            if visit <= walk.last:
                call.inside.add(here)
            if point == walk.end:
                del calls[worker]
        for due in [due for due in call.ended if due <= point]:
            for ended in call.ended.pop(due):
                ended.wait()

    def _issue(
        self, walk: _Walk, call: _Call, calls: Mapping[int, _Call], way: str, block: int
    ) -> threading.Event:
        """Move a block; what another worker that goes through the same history uses, stays."""
        ended, ranges = threading.Event(), list[_Range]()
        if way == "back":
            call.inside.add(block)
        else:
            call.inside.discard(block)
        inside = set[int]().union(*(each.inside for each in calls.values()))
        room = walk.passage.room
        end = self._ends.get(walk.passage.tensor, self._file[1])
        for row in range(room.rows if way == "back" or block not in inside else 0):
            start = call.start + row * room.row_bytes
            if start < end:
                ranges.append(self._range(walk, start, inside, way, block))
        self._orders.put((way, tuple(ranges), ended))
        self.count += 1
        return ended

    def _range(
        self, walk: _Walk, start: int, inside: Collection[int], way: str, block: int
    ) -> _Range:
        """The pages of a block in a row that starts at an address."""
        first, end = walk.bytes_of(block)
        if way != "back":  # beside it, pages of blocks that are gone came with others
            others = (walk.bytes_of(b) for b in sorted(inside))
            near = [
                (low, high) for low, high in others if high > first - AROUND and low < end + AROUND
            ]
            first = max([0, first - AROUND, *(high for _, high in near if high <= first)])
            end = min([walk.size, end + AROUND, *(low for low, _ in near if low >= end)])
        first, end = (max(self._file[0], start + first), min(self._file[1], start + end))
        inward = way != "back" and inside
        low = -(-first // PAGE) * PAGE if inward else first // PAGE * PAGE
        high = end // PAGE * PAGE if inward else -(-end // PAGE) * PAGE
        return max(low, self._file[0]), min(high, self._file[1])


def _work(orders: SimpleQueue[_Order | None], file: int) -> None:
    """Do transfers in the order of their issue."""
    while (order := orders.get()) is not None:
        way, ranges, ended = order
        for first, end in ranges:
            if first >= end:
                continue
            if way == "back":
                bring(first, end - first)
            else:
                forget(first, end - first, file)
        ended.set()


def _arrived_at(thread: weakref.ref[TransferThread]) -> Any:  # ctypes has no name for it
    """The function that kernels tell of an arrival."""

    def told(number: int, visit: int, step: int, start: int) -> None:
        alive = thread()
        if alive is not None:
            alive.arrived(number, visit, step, start)

    return _ARRIVED(told)
