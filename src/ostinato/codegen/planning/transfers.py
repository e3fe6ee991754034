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
from itertools import groupby, islice
from typing import Literal, NamedTuple

from ostinato.codegen.ir.tree import Span
from ostinato.codegen.loops.expression import ITEM_BYTES
from ostinato.codegen.planning.planned import Plan
from ostinato.codegen.planning.visits import Visit, Walk
from ostinato.pdg.index import Dim, Expr, Extent, dims_of, evaluate, expr, product

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
    """So many steps are in blocks of ``block_steps``, of which ``blocks`` have room at once.

    A block has so many ``rows``, each so many bytes behind the one before.
    """

    steps: int
    step_bytes: int
    block_steps: int
    blocks: int
    rows: int = 1
    row_bytes: int = 0

    @property
    def bytes(self) -> int:
        """What takes memory at once."""
        return self.rows * min(self.blocks * self.block_steps, self.steps) * self.step_bytes


class Pass(NamedTuple):
    """One time that a visit is done: its steps in order, and at each what each round goes through.

    That are the steps from one on to the one before another.
    """

    visit: int
    steps: range
    rounds: tuple[tuple[tuple[int, int], ...], ...] = ()


class Passage(NamedTuple):
    """A walk at some extents, in one call of its kernel, or `around` calls in a loop of the driver.

    ``copies`` walks run at once, each with room of its own. ``visits`` are in trees of the kernel's
    body by their place, each with its number of steps, none for a round; ``points`` are visits by
    number and the blocks that they arrive at.
    """

    walk: int
    kernel: int
    tensor: str
    copies: int
    room: Room
    visits: tuple[tuple[int, int], ...]
    points: Points
    transfers: tuple[Transfer, ...]
    around: int = 0
    slot: int = 0
    rows: int = 1
    is_whole: bool = False


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
        found, others = self.plan.walks
        return tuple(s for s in found if s.tensor not in self.apart), others | self.apart

    def least_bytes(self, gone: Collection[str], *, is_planned: bool) -> int:
        """The memory that blocks of the arena take at least if they lie in a file."""
        return self.moves(gone, 0, is_planned=is_planned).room_bytes

    def moves(self, gone: Collection[str], room_bytes: int, *, is_planned: bool) -> Moves:
        """The transfers of blocks of the arena that lie in a file.

        They take so many bytes of memory, or as few as possible if that is more. A history is
        moved without a plan if a kernel arrives at too many blocks of it. If not all ``is_planned``
        that has to be, so is what would come as a whole.
        """
        inside, many = {*self._tensors(gone)}, set[str]()
        if not is_planned:
            many |= {s.tensor for s in self._walks[0] if s.whole and s.tensor in inside}
        rooms = self._rooms(inside - many, room_bytes - self._rest(inside))
        while more := {s.tensor for s, room in rooms if self._count(s, room) > MOST_POINTS}:
            many |= more
            rooms = self._rooms(inside - many, room_bytes - self._rest(inside))
        taken = dict.fromkeys((_turn(s) for s, _ in rooms), 0)
        for s, room in rooms:
            taken[_turn(s)] += self._bytes(s, room)
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
        least = {s.number: self._bytes(s, self._room(s, 0)) for s in found}
        always = [s for s in found if _turn(s) == ALWAYS]
        shares: dict[int, int] = {}
        for turn in dict.fromkeys(map(_turn, found)):
            own = [s for s in found if _turn(s) == turn != ALWAYS]
            needs = [(least[s.number], self._pieces(s)) for s in (*own, *always)]
            shares[turn] = _share(needs, room_bytes) - self._apart
        shares[ALWAYS] = min(shares.values(), default=0)
        return [(s, self._room(s, max(0, shares[_turn(s)]))) for s in found]

    @property
    def _apart(self) -> int:
        """The pages at both ends of what is in memory."""
        return 2 * self.plan.target.page_bytes

    def _bytes(self, walk: Walk, room: Room) -> int:
        """What a walk takes in memory, in all its calls at once."""
        return self._copies(walk) * (room.bytes + room.rows * self._apart)

    def _again_bytes(self, walk: Walk, room: Room) -> int:
        """What comes back again: what rounds go through and has no room, at some of the steps."""
        total, step_bytes = 0, room.rows * room.step_bytes
        for each in self._passes(walk, room) or ():
            for goes in each.rounds:
                some = goes[:: max(1, len(goes) // SAMPLES)]
                gone = ((min(end, room.steps) - first) * step_bytes for first, end in some)
                missed = sum(max(0, size - room.bytes) for size in gone)
                total += len(goes) * missed // max(1, len(some))
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
        few = [s for s in own if not s.is_long]
        return self.workers * sum(self.sizes[s.tensor] for s in few if s.place == "local")

    def _copies(self, walk: Walk) -> int:
        kernel = self.plan.kernels[walk.kernel]
        return self.workers if kernel.parallel or kernel.is_divided else 1

    def _pieces(self, walk: Walk) -> int:
        """The parts of memory in which blocks of a walk lie."""
        if walk.whole:
            return self._copies(walk)
        return self._copies(walk) * max(1, self._value(walk.rows))

    def _steps(self, walk: Walk) -> int:
        if walk.whole:
            return 1
        return max(0, self._value(self.plan.storage[walk.tensor].slots[walk.slot].extent))

    def _value(self, of: Expr, env: Mapping[Dim | Extent, int] | None = None) -> int:
        point: dict[Dim | Extent, int] = {Extent(n): k for n, k in self.extents.items()}
        point.update(env or {})
        return evaluate(of, point)

    def _room(self, walk: Walk, share: int) -> Room:
        """The blocks of a walk of which each row has so many bytes of memory.

        With rounds they are smaller, so that most stay; not so small that a call has many points.
        """
        if walk.whole:
            return self._all_of(walk)
        least = least_room(walk.visits)
        has_rounds = any(v.is_round for v in walk.visits)
        most = max(least, PARTS) if has_rounds else least
        rooms = (self._parted(walk, share, parts) for parts in range(most, least, -1))
        few = (room for room in rooms if self._count(walk, room) <= MOST_POINTS)
        return next(few, self._parted(walk, share, least))

    def _all_of(self, walk: Walk) -> Room:
        """One block of all rows of a walk."""
        s, rows = self.plan.storage[walk.tensor], max(1, self._value(walk.rows))
        row_bytes = self._value(product(s.shape[walk.slot + 1 :])) * ITEM_BYTES[s.dtype]
        return Room(1, max(1, rows * row_bytes), 1, 1)

    def _parted(self, walk: Walk, share: int, parts: int) -> Room:
        """The blocks of a walk, of which so many take its bytes of memory.

        Blocks of rounds have a power of two of steps, as a product may go through two histories.
        """
        s, steps, page = self.plan.storage[walk.tensor], self._steps(walk), self._page
        step_bytes = max(1, self._value(product(s.shape[walk.slot + 1 :]))) * ITEM_BYTES[s.dtype]
        least = least_room(walk.visits)
        few = max([-(-page // step_bytes), *(max(v.back, v.ahead) for v in walk.visits)])
        most = max(few, MOST_BYTES // step_bytes)
        count = min(most, max(few, share // (parts * step_bytes)))
        if any(v.is_round for v in walk.visits):
            count = max(1 << (count.bit_length() - 1), 1 << (few - 1).bit_length())
        count = min(count, steps)
        blocks = min(-(-steps // count), max(least, share // (count * step_bytes)))
        rows = max(1, self._value(walk.rows))
        row_bytes = self._value(product(s.shape[walk.apart + 1 :])) * ITEM_BYTES[s.dtype]
        return Room(steps, step_bytes, count, blocks, rows, row_bytes)

    def _count(self, walk: Walk, room: Room) -> int:
        """The points of a walk, or more."""
        passes, blocks = self._passes(walk, room), -(-room.steps // room.block_steps)
        if passes is None:
            return MOST_POINTS + 1
        return 1 + sum(blocks * (1 + sum(map(len, each.rounds))) for each in passes)

    def _passes(self, walk: Walk, room: Room) -> tuple[Pass, ...] | None:
        """What a call does, one after the other; None if that is too much."""
        key = walk.number, room.steps
        if key not in self._known:
            done = self._done(walk, (*enumerate(walk.visits),), {}, room)
            made = (*islice(done, MOST_POINTS + 1),)
            self._known[key] = made if len(made) <= MOST_POINTS else None
        return self._known[key]

    @cached_property
    def _known(self) -> dict[tuple[int, int], tuple[Pass, ...] | None]:
        return {}

    def _done(
        self,
        walk: Walk,
        visits: Sequence[tuple[int, Visit]],
        env: Mapping[Dim | Extent, int],
        room: Room,
        depth: int = 0,
    ) -> Iterator[Pass]:
        """The passes of visits that are in the same turns, as many as ``depth`` says."""
        for _, group in groupby(visits, lambda kv: 0 if walk.around else _child(kv[1], depth)):
            alike = [*group]
            first = alike[0][1]
            if len(first.turns) > depth:
                turn = first.turns[depth]
                for value in self._turns(walk, turn, env):
                    yield from self._done(walk, alike, {**env, turn.dim: value}, room, depth + 1)
                continue
            rounds = [v for _, v in alike[1:]]
            steps = self._span(first, room.steps, env)
            at = [{**env, first.span.dim: t} for t in steps]
            goes = (
                tuple((self._value(v.span.lo, e), self._value(v.span.hi, e)) for e in at)
                for v in rounds
            )
            yield Pass(alike[0][0], steps, tuple(goes))

    def _turns(self, walk: Walk, turn: Span, env: Mapping[Dim | Extent, int]) -> range:
        """The values of a turn, of the tile that has most of them."""
        low, parallel = self._value(turn.lo, env), self.plan.kernels[walk.kernel].parallel
        if parallel is None or parallel.dim not in dims_of(turn.hi):
            return range(low, self._value(turn.hi, env))
        tiles = range(self._value(parallel.lo), self._value(parallel.hi))
        ends = (self._value(turn.hi, {**env, parallel.dim: k}) for k in tiles)
        return range(low, max(ends, default=low))

    def _passage(
        self, walk: Walk, room: Room, known: dict[object, tuple[Points, tuple[Transfer, ...]]]
    ) -> Passage:
        """The transfers of a walk; those that are alike are found once."""
        passes = self._passes(walk, room)
        assert passes is not None, f"{walk.tensor} is moved without a plan"
        is_kept = self.plan.storage[walk.tensor].place != "local"
        alike = tuple(replace(v, place=0, span=_ANY, turns=(), inside=()) for v in walk.visits)
        of = alike, passes, room, is_kept
        if of not in known:
            known[of] = transferred(alike, passes, room, is_kept)
        steps = [0] * len(walk.visits)
        for each in passes:
            steps[each.visit] += len(each.steps)
        places = (0 if walk.around else v.place for v in walk.visits)
        about = walk.number, walk.kernel, walk.tensor, self._copies(walk)
        around = sum(len(each.steps) for each in passes) if walk.around else 0
        visits, rows = tuple(zip(places, steps, strict=True)), max(1, self._value(walk.rows))
        return Passage(*about, room, visits, *known[of], around, walk.slot, rows, walk.whole)

    @property
    def _page(self) -> int:
        return self.plan.target.page_bytes

    def _span(self, visit: Visit, steps: int, env: Mapping[Dim | Extent, int]) -> range:
        """The steps of a visit, in order."""
        lo, hi = self._value(visit.span.lo, env), self._value(visit.span.hi, env)
        if visit.near:
            lo, hi = (min(max(0, k), steps) for k in (lo, hi))
        return range(hi - 1, lo - 1, -1) if visit.reverse else range(lo, hi)


def _turn(walk: Walk) -> int:
    """The kernel whose walks are done together; those in the driver go on beside all others."""
    return walk.kernel if walk.around is None else ALWAYS


def _share(needs: Sequence[tuple[int, int]], all_bytes: int) -> int:
    """What each piece of memory has of some bytes, where some need more for so many pieces."""
    rest, pieces = all_bytes, sum(n for _, n in needs)
    for least, n in sorted(needs, key=lambda need: -need[0] / need[1]):
        if least * pieces <= rest * n:
            break
        rest, pieces = rest - least, pieces - n
    return max(0, rest) // max(1, pieces)


def _child(visit: Visit, depth: int) -> int:
    """The place of a visit in the kernel, or in the body of so many loops that are turns."""
    return visit.inside[depth - 1] if depth else visit.place


def least_room(visits: Sequence[Visit]) -> int:
    """The blocks around a step, that of a round, and one that moves meanwhile."""
    near = max((1 + (v.back > 0) + (v.ahead > 0) for v in visits if v.near), default=0)
    return near + any(v.is_round for v in visits) + 1


def transferred(
    visits: Sequence[Visit], passes: Sequence[Pass], room: Room, is_kept: bool
) -> tuple[Points, tuple[Transfer, ...]]:
    """The points of a walk, and its transfers in the order in which they are issued.

    What ``is_kept`` goes to the file at the end, as other kernels may read it.
    """
    touched = list(_touched(visits, passes, room))
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
    visits: Sequence[Visit], passes: Sequence[Pass], room: Room
) -> Iterator[tuple[int, int, Sequence[int]]]:
    """The visit of each point, the block that it arrives at, and the blocks that are touched."""
    for k, span, rounds in passes:
        visit = visits[k]
        steps = groupby(enumerate(span), lambda at: at[1] // room.block_steps)
        for block, inside in steps if rounds else ((t, ()) for t in _blocks(span, room)):
            near = (*_near(visit, span, block, room),) if visit.near else ()
            if visit.near:
                yield k, block, near
            for at, _ in inside:
                for j, goes in enumerate(rounds):
                    first, end = goes[at][0], min(goes[at][1], room.steps)
                    for b in _blocks(range(first, end), room):
                        yield k + 1 + j, b, near if b in near else (*near, b)


def _blocks(span: range, room: Room) -> Iterator[int]:
    """The blocks that some steps lie in, in order."""
    if span:
        first, last, by = span[0] // room.block_steps, span[-1] // room.block_steps, span.step
        yield from range(first, last + by, by)


def _near(visit: Visit, span: range, block: int, room: Room) -> range:
    """The blocks that are touched while a loop is at one."""
    least, most = (span[-1], span[0]) if visit.reverse else (span[0], span[-1])
    first = max(least, block * room.block_steps) - visit.back
    last = min(most, (block + 1) * room.block_steps - 1) + visit.ahead
    return range(
        max(0, first) // room.block_steps, min(last, room.steps - 1) // room.block_steps + 1
    )
