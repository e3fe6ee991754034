"""The proof of transfers: what a kernel touches is in memory, and no more than has room there.

At the extents of a layout, what a kernel touches between two arrivals follows from its loops and
its reads alone: see `ostinato.certificate.touched_blocks`. Transfers are done one after the other
in the order of their issue. Then

- a block is touched only while it is in memory: it came back, and the arrival waited for that, or
  it is new: written wholly before it is read, by the only call that writes the history;
- a block leaves only when nobody touches it before it is back, and is dropped only if the file has
  its values, or nobody reads them any more;
- a place is taken only when the block that had it has left, and of no history more blocks are in
  memory than have room;
- what takes memory at once is no more than the layout says.

Parts of a plan are done many times over. What is in memory, on its way and in the file after one
time decides all that follows, so that when it is the same after two of them, it is after each.

A call that ends a loop early, or has fewer turns than another one, leaves points out: it touches
less, and what moves there moves all the same. What several calls go through at once leaves memory
when the last of them says so.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from ostinato.certificate.order import Layout, Timeline
from ostinato.certificate.slots import Misplaced
from ostinato.certificate.touched_blocks import Called, Row, Touch
from ostinato.pdg.index import Dim, Extent
from ostinato.runtime.machine_code.arena_layout import Part, Transfer


def check_transfers(order: Timeline, layout: Layout, workers: int) -> int:
    """Prove the transfers of a layout; return how many there are.

    Errors: Misplaced.
    """
    tensors = {t.name: t for t in order.memory.tensors}
    env: dict[Dim | Extent, int] = {Extent(name): n for name, n in layout.extents.items()}
    taken, always = dict[tuple[object, ...], int](), 0
    for p in layout.passages:
        same = [q for q in layout.passages if q.tensor == p.tensor]
        if sum(q.call[: len(p.call)] == p.call for q in same) != 1:
            raise Misplaced(f"`{p.tensor}` is moved by two plans at once")
        if p.tensor not in tensors or min(p.count, p.blocks, p.steps, p.step_bytes, p.rows) < 1:
            raise Misplaced(f"`{p.tensor}` is no history")
        if p.copies not in (1, workers):
            raise Misplaced(f"{p.copies} calls move `{p.tensor}`, of {workers} workers")
        touches = Called(order, tensors, p, env).touches()
        check_parts(p.tensor, touches, p.parts, p.blocks, tensors[p.tensor].place != "local")
        rows = 1 if p.slot < 0 else p.rows
        size = rows * min(p.blocks * p.count, p.steps) * p.step_bytes
        if isinstance(p.call[-1], Dim):  # other calls go on meanwhile
            always += size
        else:
            taken[p.call] = taken.get(p.call, 0) + p.copies * size
    if always + max(taken.values(), default=0) > layout.room:
        raise Misplaced(f"histories take more memory at once than {layout.room:,} bytes")
    parts = (part for p in layout.passages for part in p.parts)
    return sum(part.times * len(part.transfers) for part in parts)


@dataclass
class _State:
    """The blocks in memory, those on their way with the point that waits for them, and the file."""

    tensor: str
    room: int
    inside: set[int] = field(default_factory=set[int])
    coming: dict[int, int] = field(default_factory=dict[int, int])
    leaving: dict[int, int] = field(default_factory=dict[int, int])
    unsaved: set[int] = field(default_factory=set[int])  # blocks whose values only memory has
    lost: set[int] = field(default_factory=set[int])
    known: set[int] = field(default_factory=set[int])

    def require(self, holds: bool, fact: str) -> None:
        if not holds:
            raise Misplaced(f"`{self.tensor}`: {fact}")

    @property
    def snapshot(self) -> object:
        """What decides whether transfers to come are possible."""
        moving = frozenset(self.coming.items()), frozenset(self.leaving.items())
        kept = frozenset(self.unsaved), frozenset(self.lost)
        return frozenset(self.inside), moving, kept, len(self.known)

    def touch(self, touch: Touch) -> None:
        """Touch blocks that are in memory, or that are new."""
        for block in sorted(touch.blocks - self.inside):
            new = touch.begins and block not in self.known and block not in self.coming
            self.require(new, f"block {block} is touched and is not in memory")
            self.inside.add(block)
            self.fits(block)
        self.known |= touch.blocks
        if touch.writes:
            self.unsaved |= touch.blocks

    def turn(self, points: int) -> None:
        """Count points from so many later on."""
        self.coming = {block: due - points for block, due in self.coming.items()}
        self.leaving = {block: due - points for block, due in self.leaving.items()}

    def wait(self, point: int) -> None:
        """What is due has ended."""
        for block in [b for b, due in self.coming.items() if due <= point]:
            self.inside.add(block)
            del self.coming[block]
        for block in [b for b, due in self.leaving.items() if due <= point]:
            del self.leaving[block]

    def issue(self, t: Transfer) -> None:
        """Begin a transfer, when those before it have ended."""
        if t.way == "back":
            self.require(t.block not in self.inside and t.block not in self.coming,
                         f"block {t.block} comes back twice")  # fmt: skip
            self.require(t.block not in self.lost, f"block {t.block} was dropped and is read")
            self.leaving.clear()
            self.coming[t.block] = t.due
            self.fits(t.block)
            return
        self.require(t.way in ("out", "drop"), f"`{t.way}` is no transfer")
        self.require(t.block in self.inside, f"block {t.block} leaves and is not there")
        self.inside.remove(t.block)
        self.leaving[t.block] = t.due
        if t.way == "drop" and t.block in self.unsaved:
            self.lost.add(t.block)
        self.unsaved.discard(t.block)

    def fits(self, block: int) -> None:
        used = len(self.inside) + len(self.coming) + len(self.leaving)
        self.require(used <= self.room, f"there is no room for block {block}")


def check_parts(
    tensor: str, rows: Iterator[Row], parts: Sequence[Part], room: int, is_kept: bool
) -> None:
    """Prove the transfers of one history; what ``is_kept`` is in the file at the end.

    Errors: Misplaced.
    """
    state, rest = _State(tensor, room), list[tuple[int, int, Touch]]()
    for k, part in enumerate(parts):
        behind = parts[k + 1].transfers if k + 1 < len(parts) else ()
        state.require(part.times == 1 or bool(part.points and not rest), "comes in no turns")
        is_late = not k or not parts[k - 1].points  # no point is there before
        early = [t for t in part.transfers if t.issued < -1 + is_late]
        state.require(not early, "moves before the call")
        first, same = list[Row](), False
        for turn in range(part.times):
            touches = _next(rows, rest, part, first, state)
            is_last = turn + 1 == part.times
            if same and not is_last:
                continue
            before = state.snapshot
            _check_turn(state, touches, part, behind if is_last else part.transfers)
            same = state.snapshot == before and turn > 0
    state.require(not rest and next(rows, None) is None, "is not waited for at every block")
    state.require(not state.inside and not state.coming, "not all has left at the end")
    state.require(not (is_kept and state.lost), "what is read later was dropped")


def _next(
    rows: Iterator[Row],
    rest: list[tuple[int, int, Touch]],
    part: Part,
    first: list[Row],
    state: _State,
) -> list[Touch]:
    """What is touched at the next points: those of a part, whose ``first`` turn is kept."""
    fact, taken, count = "is not waited for at every block", list[Row](), len(rest)
    while count < len(part.points):
        row = next(rows, None)
        state.require(row is not None, fact)
        assert row is not None, "a row is there"
        taken.append(row)
        count += len(row)
    if part.times > 1:
        state.require(count == len(part.points) and first in ([], taken), fact)
        if first:
            return [touch for row in taken for _, _, touch in row]
        first.extend(taken)
    rest.extend(point for row in taken for point in row)
    here = rest[: len(part.points)]
    del rest[: len(part.points)]
    state.require([(k, block) for k, block, _ in here] == [*part.points], fact)
    return [touch for _, _, touch in here]


def _check_turn(
    state: _State, touches: Sequence[Touch], part: Part, behind: Sequence[Transfer]
) -> None:
    """Do the transfers of one time of a part, with those of what is behind that are issued before.

    Those of its own were.
    """
    queue, count = [t for t in part.transfers if t.issued >= 0], len(touches)
    early = [t._replace(issued=count - 1, due=t.due + count) for t in behind if t.issued < 0]
    queue += early if touches else []
    for point in range(max(1, count)):
        while queue and queue[0].issued <= point:
            t = queue.pop(0)
            state.require(t.issued == point <= t.due, f"block {t.block} moves out of turn")
            state.issue(t)
        state.wait(point)
        if touches:
            state.touch(touches[point])
    state.require(not queue, "not all has left at the end")
    state.turn(count)
