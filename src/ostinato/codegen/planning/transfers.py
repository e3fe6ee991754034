"""The transfers of histories that lie in a file: what leaves memory and what comes back, and when.

Steps of a walk move in blocks. A *point* is the arrival of a kernel at a block, in the order in
which its loops pass through them; the last one is its end. A transfer is issued at a point and has
ended before another one goes on. Who takes a place leaves it before: of the blocks that are not
needed at the next point, that one which is needed last. So a block leaves as late as it may, and
comes back as late as the link needs: one point before it is read, while the kernel computes. Of
what every step goes through from the start, so the first blocks stay, and the others come and go.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import groupby, takewhile
from typing import Literal, NamedTuple

from ostinato.codegen.ir.tree import Span
from ostinato.codegen.loops.expression import ITEM_BYTES
from ostinato.codegen.planning.planned import Plan
from ostinato.codegen.planning.walks import Visit, Walk, walks
from ostinato.pdg.index import Dim, Expr, Extent, evaluate, expr, product

MOST_BYTES = 1 << 20  # of a block: a larger one takes no less time for each byte
PARTS = 8  # blocks in the room of what steps go through again and again: all but a few stay there
SAMPLES = 16  # steps at which it is asked how far rounds go
MOST_POINTS = 1 << 17  # in a call: what has more is moved without a plan

ALWAYS = -1  # instead of a kernel: what goes on beside all of them
_ANY = Span(Dim("any"), expr(0), expr(0))  # where transfers do not depend on names
Points = tuple[tuple[int, int], ...]  # a visit by number, the block that it arrives at
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
    """A walk at some extents, in one call of its kernel, or `around` calls in a loop of the driver.

    ``copies`` walks run at once, each with a history and room of its own. ``visits`` are trees of
    the kernel's body by their place, each with its first step and how many there are, none for a
    round; ``points`` are visits by number and the blocks that they arrive at.
    """

    walk: int
    kernel: int
    tensor: str
    copies: int
    room: Room
    visits: tuple[tuple[int, int, int], ...]
    points: Points
    transfers: tuple[Transfer, ...]
    around: int = 0


@dataclass(frozen=True, eq=False)
class Moves:
    """The memory that steps in use take, what is moved without a plan, and all transfers.

    ``found`` finds the transfers, which is only done for a run or its explanation. ``again_bytes``
    is what rounds bring back, roughly.
    """

    room_bytes: int = 0
    unplanned: tuple[str, ...] = ()
    link_ns: float = 0.0  # of a byte
    found: Callable[[], tuple[Passage, ...]] = tuple
    again_bytes: int = 0

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

        They take so many bytes of memory, or as few as possible if that is more. A history is
        moved without a plan if a kernel arrives at too many blocks of it.
        """
        inside, many = {*self._tensors(gone)}, set[str]()
        rooms = self._rooms(inside, room_bytes - self._rest(inside))
        while more := {s.tensor for s, room in rooms if self._count(s, room) > MOST_POINTS}:
            many |= more
            rooms = self._rooms(inside - many, room_bytes - self._rest(inside))
        taken = dict.fromkeys((_turn(s) for s, _ in rooms), 0)
        for s, room in rooms:
            taken[_turn(s)] += self._copies(s) * (room.bytes + self._apart)
        unplanned = tuple(sorted((self._walks[1] | many) & inside))
        found = partial(self._passages, rooms)
        link_ns = self.plan.target.link_ns
        always = self._rest(inside) + taken.pop(ALWAYS, 0)
        all_bytes = always + max(taken.values(), default=0)
        again_bytes = sum(self._again_bytes(s, room) for s, room in rooms)
        return Moves(all_bytes, unplanned, link_ns, found, again_bytes)

    def _rooms(self, moved: Collection[str], room_bytes: int) -> list[tuple[Walk, Room]]:
        """The walks of some histories, and the room of each in so many bytes for each kernel."""
        found = [s for s in self._walks[0] if s.tensor in moved and self._steps(s)]
        copies = {ALWAYS: 0} | dict.fromkeys(map(_turn, found), 0)
        for s in found:
            copies[_turn(s)] += self._copies(s)
        always = copies.pop(ALWAYS)
        copies = {turn: n + always for turn, n in copies.items()}
        copies[ALWAYS] = max(copies.values(), default=always)
        share = {k: max(0, room_bytes) // n - self._apart for k, n in copies.items() if n}
        return [(s, self._room(s, max(0, share[_turn(s)]))) for s in found]

    @property
    def _apart(self) -> int:
        """The pages at both ends of what is in memory."""
        return 2 * self.plan.target.page_bytes

    def _count(self, walk: Walk, room: Room) -> int:
        """The points of a walk, or more."""
        blocks, spans = -(-room.steps // room.block_steps), self._spans(walk, room)
        count, steps = 1, 0
        for visit, span in zip(walk.visits, spans, strict=True):
            steps = steps if visit.is_round else len(span)
            count += steps * blocks if visit.is_round else blocks
        return count

    def _again_bytes(self, walk: Walk, room: Room) -> int:
        """What rounds bring back to memory: all that has no room, at some of the steps."""
        spans, total = self._spans(walk, room), 0
        some = [span[:: max(1, len(span) // SAMPLES)] for span in spans]
        for span, ends in zip(spans, self._ends(walk, some), strict=True):
            missed = (max(0, min(e, room.steps) * room.step_bytes - room.bytes) for e in ends)
            total += len(span) * sum(missed) // max(1, len(ends))
        return self._copies(walk) * total

    def _passages(self, rooms: Sequence[tuple[Walk, Room]]) -> tuple[Passage, ...]:
        known: dict[object, tuple[Points, tuple[Transfer, ...]]] = {}
        return tuple(self._passage(s, room, known) for s, room in rooms)

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
        """The blocks of a walk that has so many bytes of memory.

        With rounds they are smaller, so that most stay; not so small that a call has many points.
        """
        least = least_room(walk.visits)
        has_rounds = any(v.is_round for v in walk.visits)
        most = max(least, PARTS) if has_rounds else least
        rooms = (self._parted(walk, share, parts) for parts in range(most, least, -1))
        few = (room for room in rooms if self._count(walk, room) <= MOST_POINTS)
        return next(few, self._parted(walk, share, least))

    def _parted(self, walk: Walk, share: int, parts: int) -> Room:
        """The blocks of a walk, of which so many take its bytes of memory."""
        s, steps, page = self.plan.storage[walk.tensor], self._steps(walk), self._page
        step_bytes = max(1, self._value(product(s.shape[walk.slot + 1 :]))) * ITEM_BYTES[s.dtype]
        least = least_room(walk.visits)
        few = max([-(-page // step_bytes), *(max(v.back, v.ahead) for v in walk.visits)])
        most = max(few, MOST_BYTES // step_bytes)
        count = min(most, max(few, share // (parts * step_bytes)), steps)
        blocks = min(-(-steps // count), max(least, share // (count * step_bytes)))
        return Room(steps, step_bytes, count, blocks)

    def _passage(
        self, walk: Walk, room: Room, known: dict[object, tuple[Points, tuple[Transfer, ...]]]
    ) -> Passage:
        """The transfers of a walk; those that are alike are found once."""
        spans = self._spans(walk, room)
        ends = self._ends(walk, spans)
        is_kept = self.plan.storage[walk.tensor].place != "local"
        alike = tuple(replace(v, place=0, span=_ANY) for v in walk.visits)
        of = alike, (*spans,), ends, room, is_kept
        if of not in known:
            known[of] = transferred(alike, spans, room, is_kept, ends)
        visits = tuple(
            (0 if walk.around else v.place, span[0] if span else 0, 0 if v.is_round else len(span))
            for v, span in zip(walk.visits, spans, strict=True)
        )
        about = walk.number, walk.kernel, walk.tensor, self._copies(walk)
        around = len(spans[0]) if walk.around else 0
        return Passage(*about, room, visits, *known[of], around)

    def _spans(self, walk: Walk, room: Room) -> list[range]:
        """The steps of each visit, and those at which each round is made."""
        spans = list[range]()
        for visit in walk.visits:
            spans.append(spans[-1] if visit.is_round else self._span(visit, room.steps))
        return spans

    def _ends(self, walk: Walk, spans: Sequence[range]) -> tuple[tuple[int, ...], ...]:
        """How far each round goes at each of these steps; nothing for other visits."""
        found, dim = list[tuple[int, ...]](), None
        point: dict[Dim | Extent, int] = {Extent(n): k for n, k in self.extents.items()}
        for visit, span in zip(walk.visits, spans, strict=True):
            if not visit.is_round:
                dim = visit.span.dim
            hi = visit.span.hi
            steps = (evaluate(hi, {**point, dim: t}) for t in span) if dim else iter(())
            found.append(tuple(steps) if visit.is_round else ())
        return tuple(found)

    @property
    def _page(self) -> int:
        return self.plan.target.page_bytes

    def _span(self, visit: Visit, steps: int) -> range:
        """The steps of a visit, in order."""
        lo, hi = self._value(visit.span.lo), self._value(visit.span.hi)
        if visit.near:
            lo, hi = (min(max(0, k), steps) for k in (lo, hi))
        return range(hi - 1, lo - 1, -1) if visit.reverse else range(lo, hi)


def _turn(walk: Walk) -> int:
    """The kernel whose walks are done together; those in the driver go on beside all others."""
    return walk.kernel if walk.around is None else ALWAYS


def least_room(visits: Sequence[Visit]) -> int:
    """The blocks around a step, that of a round, and one that moves meanwhile."""
    near = max((1 + (v.back > 0) + (v.ahead > 0) for v in visits if v.near), default=0)
    return near + any(v.is_round for v in visits) + 1


def transferred(
    visits: Sequence[Visit],
    spans: Sequence[range],
    room: Room,
    is_kept: bool,
    ends: Sequence[Sequence[int]] = (),
) -> tuple[Points, tuple[Transfer, ...]]:
    """The points of a walk, and its transfers in the order in which they are issued.

    What ``is_kept`` goes to the file at the end, as other kernels may read it. ``ends`` say how far
    rounds go at each step.
    """
    touched = list(_touched(visits, spans, room, ends))
    points, near = [(k, block) for k, block, _ in touched], [blocks for _, _, blocks in touched]
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
        visit, before = visits[points[at][0]], near[at - 1] if at else ()
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


def _touched(
    visits: Sequence[Visit],
    spans: Sequence[range],
    room: Room,
    ends: Sequence[Sequence[int]],
) -> Iterator[tuple[int, int, Sequence[int]]]:
    """The visit of each point, the block that it arrives at, and the blocks that are touched."""
    for k, (visit, span) in enumerate(zip(visits, spans, strict=True)):
        if visit.is_round:
            continue
        rounds = [*takewhile(lambda j: visits[j].is_round, range(k + 1, len(visits)))]
        steps = groupby(enumerate(span), lambda at: at[1] // room.block_steps)
        for block, inside in steps if rounds else ((t, ()) for t in _blocks(span, room)):
            near = (*_near(visit, span, block, room),) if visit.near else ()
            if visit.near:
                yield k, block, near
            for at, _ in inside:
                for j in rounds:
                    for b in range(-(-min(ends[j][at], room.steps) // room.block_steps)):
                        yield j, b, near if b in near else (*near, b)


def _blocks(span: range, room: Room) -> Iterator[int]:
    """The blocks that some steps lie in, in order."""
    yield from dict.fromkeys(t // room.block_steps for t in span)


def _near(visit: Visit, span: range, block: int, room: Room) -> range:
    """The blocks that are touched while a loop is at one."""
    least, most = (span[-1], span[0]) if visit.reverse else (span[0], span[-1])
    first = max(least, block * room.block_steps) - visit.back
    last = min(most, (block + 1) * room.block_steps - 1) + visit.ahead
    return range(
        max(0, first) // room.block_steps, min(last, room.steps - 1) // room.block_steps + 1
    )
