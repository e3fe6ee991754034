"""The transfers of histories that lie in a file: what leaves memory and what comes back, and when.

Steps of a walk move in blocks. A *point* is the arrival of a kernel at a block, in the order in
which its loops pass through them; the last one is its end. A transfer is issued at a point and has
ended before another one goes on. Who takes a place leaves it before: of the blocks that are not
needed at the next point, that one which is needed last. So a block leaves as late as it may, and
comes back as late as the link needs: one point before it is read, while the kernel computes.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Literal, NamedTuple

from ostinato.codegen.loops.expression import ITEM_BYTES
from ostinato.codegen.planning.planned import Plan
from ostinato.codegen.planning.walks import Visit, Walk, walks
from ostinato.pdg.index import Dim, Expr, Extent, evaluate, product

MOST_BYTES = 1 << 20  # of a block: a larger one takes no less time for each byte

Way = Literal["out", "back", "drop"]  # to the file, from it, away as nobody needs it again


class Transfer(NamedTuple):
    """What moves a block, the point at which it is issued, the one that waits for its end."""

    way: Way
    block: int
    issued: int
    due: int


class Room(NamedTuple):
    """So many steps are in blocks of ``block_steps``, of which ``blocks`` have room at once."""

    steps: int
    step_bytes: int
    block_steps: int
    blocks: int

    @property
    def bytes(self) -> int:
        """What takes memory at once."""
        return min(self.blocks * self.block_steps, self.steps) * self.step_bytes


class Passage(NamedTuple):
    """A walk at some extents, in one call of its kernel.

    ``copies`` calls run at once, each with a history and room of its own. ``visits`` are trees of
    the kernel's body by their place, each with its first step and how many there are; ``points``
    are visits by number and the blocks that they arrive at.
    """

    walk: int
    kernel: int
    tensor: str
    copies: int
    room: Room
    visits: tuple[tuple[int, int, int], ...]
    points: tuple[tuple[int, int], ...]
    transfers: tuple[Transfer, ...]


@dataclass(frozen=True, eq=False)
class Moves:
    """The memory that steps in use take, what is moved without a plan, and all transfers.

    ``found`` finds the transfers, which is only done for a run or its explanation.
    """

    room_bytes: int = 0
    unplanned: tuple[str, ...] = ()
    link_ns: float = 0.0  # of a byte
    found: Callable[[], tuple[Passage, ...]] = tuple

    @property
    def passages(self) -> tuple[Passage, ...]:
        return self._passages

    @cached_property
    def _passages(self) -> tuple[Passage, ...]:
        return self.found()


@dataclass(frozen=True)
class Movable:
    """The walks of a plan at some extents, for some workers; ``sizes`` are bytes of a copy.

    Of the tensors in ``apart`` not all steps have room in the arena.
    """

    plan: Plan
    extents: Mapping[str, int]
    workers: int
    sizes: Mapping[str, int]
    apart: frozenset[str] = frozenset()

    @cached_property
    def _walks(self) -> tuple[tuple[Walk, ...], frozenset[str]]:
        found, others = walks(self.plan)
        return tuple(s for s in found if s.tensor not in self.apart), others | self.apart

    def least_bytes(self, gone: Collection[str]) -> int:
        """The memory that blocks of the arena take at least if they lie in a file."""
        return self.moves(gone, 0).room_bytes

    def moves(self, gone: Collection[str], room_bytes: int) -> Moves:
        """The transfers of blocks of the arena that lie in a file.

        They take so many bytes of memory, or as few as possible if that is more.
        """
        inside = {*self._tensors(gone)}
        moved = [s for s in self._walks[0] if s.tensor in inside and self._steps(s)]
        rest, copies = self._rest(inside), dict.fromkeys((s.kernel for s in moved), 0)
        for s in moved:
            copies[s.kernel] += self._copies(s)
        pages = 2 * self.plan.target.page_bytes
        share = {k: max(0, room_bytes - rest) // n - pages for k, n in copies.items()}
        rooms = [self._room(s, max(0, share[s.kernel])) for s in moved]
        taken = dict.fromkeys(copies, 0)
        for s, room in zip(moved, rooms, strict=True):
            taken[s.kernel] += self._copies(s) * (room.bytes + pages)
        unplanned = tuple(sorted(self._walks[1] & inside))
        found = partial(self._passages, moved, rooms)
        link_ns = self.plan.target.link_ns
        return Moves(rest + max(taken.values(), default=0), unplanned, link_ns, found)

    def _passages(self, moved: Sequence[Walk], rooms: Sequence[Room]) -> tuple[Passage, ...]:
        return tuple(self._passage(s, room) for s, room in zip(moved, rooms, strict=True))

    def _tensors(self, gone: Collection[str]) -> Iterator[str]:
        """The tensors of blocks of the arena: that of the workers has no name."""
        for name, s in self.plan.storage.items():
            if name in self.sizes and (name in gone or (s.place == "local" and "" in gone)):
                yield name

    def _rest(self, inside: Collection[str]) -> int:
        """What workers keep beside their histories: it is used all the time."""
        own = (self.plan.storage[n] for n in inside)
        few = [s for s in own if all(slot.kind == "one" for slot in s.slots)]
        return self.workers * sum(self.sizes[s.tensor] for s in few if s.place == "local")

    def _copies(self, walk: Walk) -> int:
        return self.workers if self.plan.kernels[walk.kernel].parallel else 1

    def _steps(self, walk: Walk) -> int:
        return max(0, self._value(self.plan.storage[walk.tensor].slots[walk.slot].extent))

    def _value(self, of: Expr) -> int:
        point: dict[Dim | Extent, int] = {Extent(n): k for n, k in self.extents.items()}
        return evaluate(of, point)

    def _room(self, walk: Walk, share: int) -> Room:
        """The blocks of a walk that has so many bytes of memory."""
        s, steps, page = self.plan.storage[walk.tensor], self._steps(walk), self._page
        step_bytes = max(1, self._value(product(s.shape[walk.slot + 1 :]))) * ITEM_BYTES[s.dtype]
        least = least_room(walk.visits)
        few = max([-(-page // step_bytes), *(max(v.back, v.ahead) for v in walk.visits)])
        most = max(few, MOST_BYTES // step_bytes)
        count = min(most, max(few, share // (least * step_bytes)), steps)
        blocks = min(-(-steps // count), max(least, share // (count * step_bytes)))
        return Room(steps, step_bytes, count, blocks)

    def _passage(self, walk: Walk, room: Room) -> Passage:
        spans = [self._span(v, room.steps) for v in walk.visits]
        is_kept = self.plan.storage[walk.tensor].place != "local"
        made = transferred(walk.visits, spans, room, is_kept)
        pairs = zip(walk.visits, spans, strict=True)
        visits = tuple((v.place, span[0] if span else 0, len(span)) for v, span in pairs)
        copies = self._copies(walk)
        return Passage(walk.number, walk.kernel, walk.tensor, copies, room, visits, *made)

    @property
    def _page(self) -> int:
        return self.plan.target.page_bytes

    def _span(self, visit: Visit, steps: int) -> range:
        """The steps of a visit, in order."""
        lo, hi = (min(max(0, self._value(e)), steps) for e in (visit.span.lo, visit.span.hi))
        return range(hi - 1, lo - 1, -1) if visit.reverse else range(lo, hi)


def least_room(visits: Sequence[Visit]) -> int:
    """The blocks around a step, and one that moves meanwhile."""
    return 2 + max((v.back > 0) + (v.ahead > 0) for v in visits)


def transferred(
    visits: Sequence[Visit], spans: Sequence[range], room: Room, is_kept: bool
) -> tuple[tuple[tuple[int, int], ...], tuple[Transfer, ...]]:
    """The points of a walk, and its transfers in the order in which they are issued.

    What ``is_kept`` goes to the file at the end, as other kernels may read it.
    """
    points = [
        (k, block)
        for k, span in enumerate(spans)
        for block in dict.fromkeys(t // room.block_steps for t in span)
    ]
    near = [_near(visits[k], spans[k], block, room) for k, block in points]
    uses: dict[int, list[int]] = {}
    for p, blocks in enumerate(near):
        for block in blocks:
            uses.setdefault(block, []).append(p)
    made, inside = list[Transfer](), dict[int, bool]()  # block -> whether it was written

    def use(block: int, at: int) -> int:
        """The first point from one on that touches a block."""
        k = bisect_left(uses[block], at)
        return uses[block][k] if k < len(uses[block]) else len(points)

    def leave(block: int, issued: int, due: int) -> None:
        is_needed = is_kept or use(block, due) < len(points)
        way: Way = "out" if inside.pop(block) and is_needed else "drop"
        made.append(Transfer(way, block, issued, due))

    for at, blocks in enumerate(near):
        visit, before = visits[points[at][0]], near[at - 1] if at else range(0)
        for block in blocks:
            if block not in inside:
                issued = max(0, at - 1)
                if len(inside) >= room.blocks:
                    away = [b for b in inside if b not in blocks]
                    free = [b for b in away if b not in before]
                    issued = issued if free else at  # else what was used last leaves, in no time
                    leave(max(free or away, key=lambda b: (use(b, at), b)), issued, at)
                if not (visit.fills and uses[block][0] == at):
                    made.append(Transfer("back", block, issued, at))
            inside[block] = inside.get(block, False) or visit.writes
    for block in sorted(inside):
        leave(block, len(points), len(points))
    return tuple(points), tuple(made)


def _near(visit: Visit, span: range, block: int, room: Room) -> range:
    """The blocks that are touched while a loop is at one."""
    least, most = (span[-1], span[0]) if visit.reverse else (span[0], span[-1])
    first = max(least, block * room.block_steps) - visit.back
    last = min(most, (block + 1) * room.block_steps - 1) + visit.ahead
    return range(
        max(0, first) // room.block_steps, min(last, room.steps - 1) // room.block_steps + 1
    )
