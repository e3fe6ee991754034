"""When blocks of a history move between memory and its file: what leaves, what comes back.

A *point* is the arrival of a kernel at a block, in the order in which its loops pass through them;
the last one is its end. A transfer is issued at a point and has ended before another one goes on.
Who takes a place leaves it before: of the blocks that are not needed at the next point, that one
which is needed last. So a block leaves as late as it may, and comes back as late as the link needs:
one point before it is read, while the kernel computes. Of what every step goes through from the
start, so the first blocks stay, and the others come and go.

A long list of points says the same over and over: each step goes through the same blocks as the one
before. Such a plan is one in *parts*, each of which is done so many times. What leaves is what
comes last in a part, so that the blocks in memory are soon the same after each time.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

from ostinato.codegen.planning.visits import Visit
from ostinato.runtime.machine_code.arena_layout import Part, Room, Transfer

MOST_POINTS = 1 << 17  # of a call, as they are written down
MOST_ROWS = 1 << 21  # steps of a call; what has more is moved without a plan
LONGEST_TURN = 4  # rows that may come again
MOST_BLOCKS = 256  # that every step goes through: so many parts have about so many points each
Points = tuple[tuple[int, int], ...]  # a visit by number, the block that it arrives at
Point = tuple[int, int, tuple[int, ...]]  # with the blocks that are touched
Row = tuple[Point, ...]


class Pass(NamedTuple):
    """One time that a visit is done: its steps in order, and at each what each round goes through.

    That are the steps from one on to the one before another.
    """

    visit: int
    steps: range
    rounds: tuple[tuple[tuple[int, int], ...], ...] = ()


def least_room(visits: Sequence[Visit]) -> int:
    """The blocks around a step, that of a round, and one that moves meanwhile."""
    near = max((1 + (v.back > 0) + (v.ahead > 0) for v in visits if v.near), default=0)
    return near + any(v.is_round for v in visits) + 1


def transferred(
    visits: Sequence[Visit], passes: Sequence[Pass], room: Room, is_kept: bool
) -> tuple[Part, Part]:
    """The points of a walk as a list, with its transfers in the order in which they are issued.

    What ``is_kept`` goes to the file at the end, as other kernels may read it.
    """
    touched = (*_touched(visits, passes, room),)
    uses: dict[int, list[int]] = {}
    for p, (_, _, blocks) in enumerate(touched):
        for block in blocks:
            uses.setdefault(block, []).append(p)

    def use(block: int, at: int) -> int:
        """The first point from one on that touches a block."""
        k = bisect_left(uses[block], at)
        return uses[block][k] if k < len(uses[block]) else len(touched)

    def is_needed(block: int, at: int) -> bool:
        return is_kept or use(block, at) < len(touched)

    mover = _Mover(visits, room)
    return Part(1, _points(touched), mover.moves(touched, use, is_needed)), mover.rest(is_kept)


def _points(touched: Iterable[Point]) -> Points:
    return tuple((k, block) for k, block, _ in touched)


class _Mover:
    """What moves the blocks of a walk, by when each of them is needed again."""

    def __init__(self, visits: Sequence[Visit], room: Room) -> None:
        self.inside: dict[int, bool] = {}  # block -> whether it was written
        self._visits, self._room = visits, room
        self._known, self._before = set[int](), tuple[int, ...]()
        self._begun = 0

    @property
    def state(self) -> object:
        return frozenset(self.inside.items()), self._before, len(self._known)

    def moves(
        self,
        unit: Sequence[Point],
        use: Callable[[int, int], int],
        is_needed: Callable[[int, int], bool] = lambda block, at: True,
    ) -> tuple[Transfer, ...]:
        """The transfers of some points; of blocks that must leave, those used last from a point on.

        What was written goes to the file if it ``is_needed``.
        """
        made = list[Transfer]()
        for at, (k, _, blocks) in enumerate(unit):
            for block in blocks:
                if block not in self.inside:
                    issued = max(at - 1, -self._begun)
                    if len(self.inside) >= self._room.blocks:
                        away = [b for b in self.inside if b not in blocks]
                        free = [b for b in away if b not in self._before]
                        issued = issued if free else at  # else what was used last leaves
                        gone = max(free or away, key=lambda b: (use(b, at), b))
                        way = "out" if self.inside.pop(gone) and is_needed(gone, at) else "drop"
                        made.append(Transfer(way, gone, issued, at))
                    if not (self._visits[k].fills and block not in self._known):
                        made.append(Transfer("back", block, issued, at))
                    self._known.add(block)
                self.inside[block] = self.inside.get(block, False) or self._visits[k].writes
            self._before, self._begun = blocks, 1
        return tuple(made)

    def rest(self, is_kept: bool) -> Part:
        """The transfers of the end."""
        ways = ((b, "out" if self.inside[b] and is_kept else "drop") for b in sorted(self.inside))
        return Part(1, (), tuple(Transfer(way, b, 0, 0) for b, way in ways))


def parted(
    visits: Sequence[Visit], passes: Sequence[Pass], room: Room, is_kept: bool
) -> tuple[Part, ...] | None:
    """The points of a walk and its transfers, or None if they are too many.

    What is not much more than a list is one.
    """
    blocks = -(-room.steps // room.block_steps)
    count = sum(blocks * (1 + sum(map(len, each.rounds))) for each in passes)
    if count < MOST_POINTS:
        return transferred(visits, passes, room, is_kept)
    rows, new, size = list[Row](), set[int](), 0
    for row in rows_of(visits, passes, room):
        rows.append(row)
        if id(row) not in new:
            new.add(id(row))
            size += len(row)
        if size > MOST_POINTS or len(rows) > MOST_ROWS:
            return None
    return repeated(visits, rows, room, is_kept)


def repeated(
    visits: Sequence[Visit], rows: Sequence[Row], room: Room, is_kept: bool
) -> tuple[Part, ...] | None:
    """Parts in which the same rows of points come over and over, with the same transfers."""
    mover, found, size, at = _Mover(visits, room), list[Part](), 0, 0
    while at < len(rows):
        count, times = _turns_from(rows, at)
        unit = tuple(point for row in rows[at : at + count] for point in row)
        points, first_use = _points(unit), _first_use(unit)
        at, left = at + count * times, times
        while left:
            before, made = mover.state, mover.moves(unit, first_use)
            again = left if mover.state == before else 1
            found.append(Part(again, points, made))
            left -= again
            size += len(points)
            if size > MOST_POINTS:
                return None
    return (*found, mover.rest(is_kept))


def _first_use(unit: Iterable[Point]) -> Callable[[int, int], int]:
    """When a block is first touched by points that are come to over and over."""
    order = dict[int, int]()
    for _, _, blocks in unit:
        for block in blocks:
            order.setdefault(block, len(order))
    return lambda block, _: order.get(block, len(order))


def _turns_from(rows: Sequence[Row], at: int) -> tuple[int, int]:
    """How many rows from a place on come again, and how many times they are there."""
    best = 1, 1
    for count in range(1, LONGEST_TURN + 1):
        end = at + count
        while end < len(rows) and rows[end] is rows[end - count]:
            end += 1
        times = (end - at) // count
        if times > 1 and times * count > best[0] * best[1]:
            best = count, times
    return best


def rows_of(visits: Sequence[Visit], passes: Sequence[Pass], room: Room) -> Iterator[Row]:
    """The points of a walk, those of a pass or of a step of it together; equal ones are one."""
    known: dict[object, Row] = {}
    for each in passes:
        if not each.rounds:
            if each not in known:
                known[each] = (*_touched(visits, [each], room),)
            yield known[each]
            continue
        last = -1
        for at, t in enumerate(each.steps):
            here = t // room.block_steps
            goes = (range(of[at][0], min(of[at][1], room.steps)) for of in each.rounds)
            key = each.visit, each.steps, here, here != last, *(_blocks(of, room) for of in goes)
            if key not in known:
                known[key] = (*_at_step(visits[each.visit], each, room, at, here != last),)
            last = here
            yield known[key]


def _touched(visits: Sequence[Visit], passes: Sequence[Pass], room: Room) -> Iterator[Point]:
    """The visit of each point, the block that it arrives at, and the blocks that are touched."""
    for each in passes:
        visit, last = visits[each.visit], -1
        if not each.rounds:
            for block in _blocks(each.steps, room) if visit.near else ():
                yield each.visit, block, (*_near(visit, each.steps, block, room),)
            continue
        for at, t in enumerate(each.steps):
            here = t // room.block_steps
            yield from _at_step(visit, each, room, at, here != last)
            last = here


def _at_step(visit: Visit, each: Pass, room: Room, at: int, is_new: bool) -> Iterator[Point]:
    """The points of a step of a pass with rounds, with that of a block that it is the first of."""
    block = each.steps[at] // room.block_steps
    near = (*_near(visit, each.steps, block, room),) if visit.near else ()
    if visit.near and is_new:
        yield each.visit, block, near
    for j, goes in enumerate(each.rounds):
        for b in _blocks(range(goes[at][0], min(goes[at][1], room.steps)), room):
            yield each.visit + 1 + j, b, near if b in near else (*near, b)


def _blocks(span: range, room: Room) -> range:
    """The blocks that some steps lie in, in order."""
    if not span:
        return range(0)
    first, last, by = span[0] // room.block_steps, span[-1] // room.block_steps, span.step
    return range(first, last + by, by)


def _near(visit: Visit, span: range, block: int, room: Room) -> range:
    """The blocks that are touched while a loop is at one."""
    least, most = (span[-1], span[0]) if visit.reverse else (span[0], span[-1])
    first = max(least, block * room.block_steps) - visit.back
    last = min(most, (block + 1) * room.block_steps - 1) + visit.ahead
    return range(
        max(0, first) // room.block_steps, min(last, room.steps - 1) // room.block_steps + 1
    )
