"""The arena: byte offsets of all tensors for given extents, found in a millisecond at run time.

See `ostinato.codegen.planning.packing` for how they are packed.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate

from ostinato.codegen.loops.expression import ITEM_BYTES
from ostinato.codegen.memory.storage import Storage
from ostinato.codegen.planning.packing import Block, packed
from ostinato.codegen.planning.planned import Plan
from ostinato.codegen.planning.transfers import Movable
from ostinato.codegen.target import Target
from ostinato.pdg.index import Dim, Extent, evaluate
from ostinato.runtime.machine_code.arena_layout import Layout, Moves, Window

MAPPED = 1 << 16  # bytes: a file is mapped from a multiple on, whatever the pages of a machine are
APART = 5  # lines behind a tensor of a page or more: the next would start at the same place


def layout(
    plan: Plan,
    extents: Mapping[str, int],
    workers: int,
    most_in_memory: int = 0,
    windows: Sequence[Window] = (),
) -> Layout:
    """Place every tensor of a plan.

    With ``most_in_memory`` histories that do not fit into so many bytes lie in a file: their part
    of the arena follows that of all others, from the beginning of a page on.
    """
    line = plan.target.line_bytes
    sizes = sizes_bytes(plan, extents)
    sizes |= {w.tensor: _lines(w.steps * w.step_bytes, line) for w in windows}
    local, stride = _local(plan, sizes)
    blocks = [
        Block(n, _apart(sizes[n], plan.target), life.first, life.last)
        for n, life in plan.lives.items()
    ]
    if stride:
        blocks.append(Block("", stride * workers, 0, max((b.last for b in blocks), default=0)))
    bound = _lower_bound(blocks)
    offsets, total = packed(blocks, bound)
    in_memory, moves = total, Moves()
    if 0 < most_in_memory < total:
        movable = Movable(plan, extents, workers, sizes, frozenset(w.tensor for w in windows))
        offsets, in_memory, total, bound, moves = _in_two(movable, blocks, most_in_memory)
    shown = tuple(
        (b.name or "of the workers", offsets[b.name], b.size, b.first, b.last) for b in blocks
    )
    base = offsets.pop("", 0)
    offsets |= {n: base + at for n, at in local.items()}
    return Layout(offsets, stride, total, bound, shown, in_memory, tuple(windows), moves)


LEAST = 4  # records: with fewer a stream would mostly wait


@dataclass(frozen=True)
class Streamed:
    """Places every tensor of a plan for a stream of which some records may wait to be read.

    Of the tensors that look ``backs`` no further there is room for these steps only. With a
    ``limit`` a usual number of records is one that fits. ``most_in_memory`` is that of `layout`.
    """

    plan: Plan
    backs: Mapping[str, int]
    limit: int
    most_in_memory: int

    def __call__(
        self, extents: Mapping[str, int], workers: int, records: int, usual_bytes: int
    ) -> Layout:
        """A layout for so many records, or if 0 for as many as some bytes hold."""
        whole = [_whole(self.plan.storage[name], k, extents) for name, k in self.backs.items()]

        def placed(count: int) -> Layout:
            found = [w._replace(steps=count + w.back) for w in whole if count + w.back < w.steps]
            return layout(self.plan, extents, workers, self.most_in_memory, found)

        step_bytes = sum(w.step_bytes for w in whole)
        longest = max((w.steps for w in whole), default=0)
        count = records or min(longest, max(LEAST, usual_bytes // max(1, step_bytes)))
        made = placed(count)
        if not records and step_bytes and made.peak_bytes > self.limit > 0:
            made = placed(max(LEAST, count - -(-(made.peak_bytes - self.limit) // step_bytes)))
        return made


def _whole(s: Storage, back: int, extents: Mapping[str, int]) -> Window:
    """The window of a tensor that has room for all steps."""
    point: dict[Dim | Extent, int] = {Extent(name): steps for name, steps in extents.items()}
    shape = [max(0, evaluate(size, point)) for size in s.shape]
    steps = next(n for n, slot in zip(shape, s.slots, strict=False) if slot.kind != "one")
    step_bytes = math.prod(shape) // max(1, steps) * ITEM_BYTES[s.dtype]
    return Window(s.tensor, steps, step_bytes, back)


def _in_two(
    movable: Movable, blocks: Sequence[Block], most: int
) -> tuple[dict[str, int], int, int, int, Moves]:
    """Offsets, bytes in memory, all bytes, a bound on those in memory, and transfers of the others.

    The largest histories lie in a file.

    A byte of any history is written once and read back once, so the largest ones leave first: that
    are the fewest places to move to and fro. If that is never enough, as many leave as take the
    least memory: of small ones the steps in use take more than they do. What the others leave of
    the memory is room for the steps that are in use. What kernels touch in no order comes as a
    whole, or if that leaves no room, without a plan.
    """
    histories = _histories(movable.plan)
    leaving = sorted((b for b in blocks if b.name in histories), key=lambda b: (-b.size, b.name))
    tried = [(_lower_bound(blocks), 0)]
    for is_planned in (True, False):
        for count in range(1, len(leaving) + 1):
            gone = {b.name for b in leaving[:count]}
            bound = _lower_bound([b for b in blocks if b.name not in gone])
            least = bound + movable.least_bytes(gone, is_planned=is_planned)
            tried.append((least, count))
            if least <= most:
                made = _split(movable, blocks, gone, most, is_planned)
                if made[1] + made[4].room_bytes <= most:
                    return made
    count = min(tried)[1]
    return _split(movable, blocks, {b.name for b in leaving[:count]}, most, False)


def _split(
    movable: Movable,
    blocks: Sequence[Block],
    names: Collection[str],
    most: int,
    is_planned: bool,
) -> tuple[dict[str, int], int, int, int, Moves]:
    """What `_in_two` returns, if some blocks lie in a file."""
    staying = [b for b in blocks if b.name not in names]
    gone, bound = [b for b in blocks if b.name in names], _lower_bound(staying)
    offsets, end = packed(staying, bound)
    behind = -(-end // MAPPED) * MAPPED
    moved, more = packed(gone, _lower_bound(gone))
    moves = movable.moves(names, most - end, is_planned=is_planned)
    return offsets | {n: behind + at for n, at in moved.items()}, end, behind + more, bound, moves


def _histories(plan: Plan) -> frozenset[str]:
    """The blocks that keep all steps of a value; those of the workers are one block."""
    long = [s for s in plan.storage.values() if s.is_long]
    return frozenset("" if s.place == "local" else s.owner for s in long)


def sizes_bytes(plan: Plan, extents: Mapping[str, int]) -> dict[str, int]:
    """The bytes of one copy of every stored tensor, rounded up to whole cache lines.

    A tensor that has no elements at these extents takes none: ``B-3`` of its rows may be less.
    """
    point: dict[Dim | Extent, int] = {Extent(name): steps for name, steps in extents.items()}
    known: dict[object, int] = {}
    line = plan.target.line_bytes
    out: dict[str, int] = {}
    for name, s in plan.storage.items():
        if s.place == "register" or s.shares:
            continue
        count = 1
        for size in s.shape:
            if size not in known:
                known[size] = max(0, evaluate(size, point))
            count *= known[size]
        out[name] = _lines(count * ITEM_BYTES[s.dtype], line)
    return out


def _lines(size: int, line: int) -> int:
    """Bytes rounded up to whole cache lines."""
    return -(-size // line) * line


def largest(plan: Plan, extents: Mapping[str, int], workers: int) -> tuple[str, int]:
    """The tensor that takes most memory when most is in use, with the bytes of all its copies."""
    sizes = sizes_bytes(plan, extents)
    phases = {life.first for life in plan.lives.values()}

    def used(phase: int) -> dict[str, int]:
        return {n: sizes[n] for n, x in plan.lives.items() if x.first <= phase <= x.last}

    fullest = max(map(used, phases), key=lambda at: sum(at.values()), default=dict[str, int]())
    own = {n: k * workers for n, k in sizes.items() if plan.storage[n].place == "local"}
    total = {n: k for n, k in (fullest | own).items() if n in plan.statements}
    name = max(total, key=lambda n: (total[n], n))
    return name, total[name]


def _apart(size: int, target: Target) -> int:
    """The bytes that a tensor takes, so that rows of the next ones lie elsewhere in their pages."""
    return size + APART * target.line_bytes if size >= target.page_bytes else size


def _local(plan: Plan, sizes: Mapping[str, int]) -> tuple[dict[str, int], int]:
    """Offsets of worker-local tensors in a worker's part; kernels use the part in turns."""
    offsets: dict[str, int] = {}
    stride = 0
    for access in plan.accesses:
        end = 0
        for name in sorted(access.all):
            if plan.storage[name].place == "local":
                offsets[name] = end
                end += _apart(sizes[name], plan.target)
        stride = max(stride, end)
    return offsets, stride


def _lower_bound(blocks: Sequence[Block]) -> int:
    """What is in use at once in the fullest phase."""
    changes = defaultdict[int, int](int)
    for b in blocks:
        changes[b.first] += b.size
        changes[b.last + 1] -= b.size
    return max(accumulate(changes[at] for at in sorted(changes)), default=0)
