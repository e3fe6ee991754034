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

A call that ends a loop early, or has fewer turns than another one, leaves points out: it touches
less, and what moves there moves all the same. What several calls go through at once leaves memory
when the last of them says so.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from ostinato.certificate.order import Layout, Timeline, Transfer
from ostinato.certificate.slots import Misplaced
from ostinato.certificate.touched_blocks import Called, Touch
from ostinato.pdg.index import Dim, Extent


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
        touches = tuple(Called(order, tensors, p, env).touches())
        is_kept = tensors[p.tensor].place != "local"
        check_passage(p.tensor, touches, p.transfers, p.blocks, is_kept)
        rows = 1 if p.slot < 0 else p.rows
        size = rows * min(p.blocks * p.count, p.steps) * p.step_bytes
        if isinstance(p.call[-1], Dim):  # other calls go on meanwhile
            always += size
        else:
            taken[p.call] = taken.get(p.call, 0) + p.copies * size
    if always + max(taken.values(), default=0) > layout.room:
        raise Misplaced(f"histories take more memory at once than {layout.room:,} bytes")
    return sum(len(p.transfers) for p in layout.passages)


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

    def require(self, holds: bool, fact: str) -> None:
        if not holds:
            raise Misplaced(f"`{self.tensor}`: {fact}")

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


def check_passage(
    tensor: str, touches: Sequence[Touch], transfers: Sequence[Transfer], room: int, is_kept: bool
) -> None:
    """Prove the transfers of one history; what ``is_kept`` is in the file at the end.

    Errors: Misplaced.
    """
    state, known, queue = _State(tensor, room), set[int](), list(transfers)
    for point in range(len(touches) + 1):
        touch = touches[point] if point < len(touches) else Touch(frozenset(), False, False)
        while queue and queue[0].issued <= point:
            t = queue.pop(0)
            state.require(t.issued == point <= t.due, f"block {t.block} moves out of turn")
            state.issue(t)
        state.wait(point)
        for block in sorted(touch.blocks - state.inside):
            new = touch.begins and block not in known and block not in state.coming
            state.require(new, f"block {block} is touched and is not in memory")
            state.inside.add(block)
            state.fits(block)
        known |= touch.blocks
        if touch.writes:
            state.unsaved |= touch.blocks
    state.require(not queue and not state.inside, "not all has left at the end")
    state.require(not (is_kept and state.lost), "what is read later was dropped")
