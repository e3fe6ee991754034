"""The transfers of histories that lie in a file, at some extents: in which blocks steps move.

What is left of a limit is divided among the walks of a kernel, whose steps are in blocks of so many
that enough of them have room. When blocks move: see `ostinato.codegen.planning.block_moves`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import groupby, islice

from ostinato.codegen.ir.tree import Span
from ostinato.codegen.loops.expression import ITEM_BYTES
from ostinato.codegen.planning import block_moves
from ostinato.codegen.planning.block_moves import Pass, least_room, parted
from ostinato.codegen.planning.planned import Plan
from ostinato.codegen.planning.visits import Visit, Walk
from ostinato.pdg.index import Dim, Expr, Extent, evaluate, expr, product
from ostinato.runtime.machine_code.arena_layout import Moves, Part, Passage, Room

MOST_BYTES = 1 << 20  # of a block: a larger one takes no less time for each byte
PARTS = 8  # blocks in the room of what steps go through again and again: all but a few stay there
SAMPLES = 16  # steps at which it is asked how far rounds go

ALWAYS = -1  # instead of a kernel: what goes on beside all of them
_ANY = Span(Dim("any"), expr(0), expr(0))  # where transfers do not depend on names


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
        while more := {s.tensor for s, room in rooms if self._parts(s, room) is None}:
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
        return Moves(all_bytes, unplanned, link_ns, again_bytes, found)

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
        return 2 * self._page

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
        return tuple(self._passage(s, room) for s, room in rooms)

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
        few = (room for room in rooms if self._parts(walk, room) is not None)
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
            if steps * steps > few * block_moves.MOST_POINTS:
                few = max(few, -(-steps // block_moves.MOST_BLOCKS))
            count = max(1 << (count.bit_length() - 1), 1 << (few - 1).bit_length())
        count = min(count, steps)
        blocks = min(-(-steps // count), max(least, share // (count * step_bytes)))
        rows = max(1, self._value(walk.rows))
        row_bytes = self._value(product(s.shape[walk.apart + 1 :])) * ITEM_BYTES[s.dtype]
        return Room(steps, step_bytes, count, blocks, rows, row_bytes)

    def _passes(self, walk: Walk, room: Room) -> tuple[Pass, ...] | None:
        """What a call does, one after the other; None if that is too much."""
        key, most = (walk.number, room.steps), block_moves.MOST_POINTS
        if key not in self._known:
            done = self._done(walk, (*enumerate(walk.visits),), {}, room)
            made = (*islice(done, most + 1),)
            self._known[key] = made if len(made) <= most else None
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
        if parallel is None or parallel.dim not in turn.hi.dims:
            return range(low, self._value(turn.hi, env))
        tiles = range(self._value(parallel.lo), self._value(parallel.hi))
        ends = (self._value(turn.hi, {**env, parallel.dim: k}) for k in tiles)
        return range(low, max(ends, default=low))

    def _parts(self, walk: Walk, room: Room) -> tuple[Part, ...] | None:
        """The transfers of a walk, found once for those that are alike; None if they are many."""
        passes = self._passes(walk, room)
        if passes is None:
            return None
        is_kept = self.plan.storage[walk.tensor].place != "local"
        alike = tuple(replace(v, place=0, span=_ANY, turns=(), inside=()) for v in walk.visits)
        of = alike, passes, room, is_kept
        if of not in self._moved:
            self._moved[of] = parted(alike, passes, room, is_kept)
        return self._moved[of]

    @cached_property
    def _moved(self) -> dict[object, tuple[Part, ...] | None]:
        return {}

    def _passage(self, walk: Walk, room: Room) -> Passage:
        """A walk with its transfers."""
        passes, parts = self._passes(walk, room), self._parts(walk, room)
        assert passes is not None and parts is not None, f"{walk.tensor} is moved without a plan"
        steps = [0] * len(walk.visits)
        for each in passes:
            steps[each.visit] += len(each.steps)
        places = (0 if walk.around else v.place for v in walk.visits)
        about = walk.number, walk.kernel, walk.tensor, self._copies(walk)
        around = sum(len(each.steps) for each in passes) if walk.around else 0
        visits, rows = tuple(zip(places, steps, strict=True)), max(1, self._value(walk.rows))
        slot = -1 if walk.whole else walk.slot
        return Passage(*about, room, visits, parts, around, slot, rows)

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
