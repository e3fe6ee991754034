"""The proof of transfers: what a kernel touches is in memory, and no more than has room there.

At the extents of a layout, what a kernel touches between two arrivals follows from its loops and
its reads alone: what is near the steps of its loops, and in a *round* the blocks that a leaf goes
through from the first one on, at every step of the loop around it. Transfers are done one after the
other in the order of their issue. Then

- a block is touched only while it is in memory: it came back, and the arrival waited for that, or
  it is new: written wholly before it is read, by the only call that writes the history;
- a block leaves only when nobody touches it before it is back, and is dropped only if the file has
  its values, or nobody reads them any more;
- a place is taken only when the block that had it has left, and of no history more blocks are in
  memory than have room;
- what takes memory at once is no more than the layout says.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import dropwhile, groupby

from ostinato.certificate.order import (
    Fill,
    Layout,
    Loop,
    Moment,
    Passage,
    Step,
    Tensor,
    Timeline,
    Transfer,
)
from ostinato.certificate.slots import Misplaced
from ostinato.pdg.index import Dim, Expr, Extent, dims_of, evaluate, expr


@dataclass(frozen=True, slots=True)
class Touch:
    """What is touched between an arrival and the next one.

    What ``begins`` is written wholly before it is read, if nobody had touched it before.
    """

    blocks: frozenset[int]
    writes: bool
    begins: bool


@dataclass(frozen=True, slots=True)
class _Access:
    """A history is touched in a call, some steps away from the loop that passes through it.

    In a round a ``leaf`` touches all steps before the ``end``.
    """

    place: int
    loop: Loop | None
    at: Expr
    writes: bool
    leaf: tuple[Moment, ...] = ()
    end: Expr | None = None


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
        if p.tensor not in tensors or min(p.count, p.blocks, p.steps, p.step_bytes) < 1:
            raise Misplaced(f"`{p.tensor}` is no history")
        if p.copies not in (1, workers):
            raise Misplaced(f"{p.copies} calls move `{p.tensor}`, of {workers} workers")
        touches = tuple(_touches(order, tensors, p, env))
        is_kept = tensors[p.tensor].place != "local"
        check_passage(p.tensor, touches, p.transfers, p.blocks, is_kept)
        size = min(p.blocks * p.count, p.steps) * p.step_bytes
        if isinstance(p.call[-1], Dim):  # other calls go on meanwhile
            always += size
        else:
            taken[p.call] = taken.get(p.call, 0) + p.copies * size
    if always + max(taken.values(), default=0) > layout.room:
        raise Misplaced(f"histories take more memory at once than {layout.room:,} bytes")
    return sum(len(p.transfers) for p in layout.passages)


def _touches(
    order: Timeline, tensors: Mapping[str, Tensor], p: Passage, env: Mapping[Dim | Extent, int]
) -> Iterator[Touch]:
    """What is touched at every point; the points are all blocks that loops come to, in turn."""
    accesses, places = list(_accesses(order, tensors, p, env)), list[int]()
    others = any(
        _owner(tensors, name) == p.tensor and time[: len(p.call)] != p.call
        for name, time in _writers(order)
    )
    points = list[tuple[int, int]]()
    for place in sorted({a.place for a in accesses}):
        here = [a for a in accesses if a.place == place]
        is_first = not places and not others and _begins(here)
        for k, block, touch in _visited(here, p, env, is_first):
            points.append((len(places) + k, block))
            yield touch
        places += [place] * (1 + sum(a.end is not None for a in here))
    if (*places,) != p.places:
        raise Misplaced(f"a call touches `{p.tensor}` where nobody waits for it")
    if (*points,) != p.points:
        raise Misplaced(f"`{p.tensor}` is not waited for at every block")


def _visited(
    accesses: Sequence[_Access], p: Passage, env: Mapping[Dim | Extent, int], is_first: bool
) -> Iterator[tuple[int, int, Touch]]:
    """What a tree touches at every block: what is near its loop, then a round for each leaf."""
    steps, near = _steps(accesses, env), [a for a in accesses if a.end is None]
    rounds, dim = [a for a in accesses if a.end is not None], accesses[0].loop
    writes = any(a.writes for a in near)
    for block, inside in groupby(steps, lambda t: t // p.count):
        blocks = {
            t // p.count
            for low, high in (_reach(a, _within(steps, block, p.count), env) for a in near)
            for t in (
                *range(max(low, 0), min(high, p.steps - 1) + 1, p.count),
                min(high, p.steps - 1),
            )
            if t >= 0
        }
        if near:
            yield 0, block, Touch(frozenset(blocks), writes, is_first)
        for t in inside if dim else ():
            for k, a in enumerate(rounds):
                assert a.end is not None and dim is not None, "a round ends"
                end = min(evaluate(a.end, {**env, dim.dim: t}), p.steps)
                for b in range(-(-end // p.count)):
                    yield 1 + k, b, Touch(frozenset((*blocks, b)), False, False)


def _within(steps: range, block: int, count: int) -> tuple[int, int]:
    """The first and the last of some steps in a block."""
    least, most = min(steps[0], steps[-1]), max(steps[0], steps[-1])
    return max(least, block * count), min(most, (block + 1) * count - 1)


def _reach(a: _Access, inside: tuple[int, int], env: Mapping[Dim | Extent, int]) -> tuple[int, int]:
    """The first and the last step that an access touches."""
    if a.loop is None:
        step = evaluate(a.at, env)
        return step, step
    away = (a.at - expr(a.loop.dim)).as_int()
    return inside[0] + away, inside[1] + away


def _steps(accesses: Sequence[_Access], env: Mapping[Dim | Extent, int]) -> range:
    """The steps that a tree of a kernel is at, in order."""
    loop = accesses[0].loop
    if loop is None:
        step = evaluate(accesses[0].at, env)
        return range(step, step + 1)
    lo, hi = (evaluate(e, env) for e in (loop.lo, loop.hi))
    return range(hi - 1, lo - 1, -1) if loop.reverse else range(lo, hi)


def _begins(accesses: Sequence[_Access]) -> bool:
    """Whether a loop writes each step before it reads it, and none that it comes to later."""
    loop = accesses[0].loop
    if loop is None:
        return False
    ends = [a.end - expr(loop.dim) - 1 for a in accesses if a.end is not None]
    if any(not e.is_const or e.as_int() > 0 or loop.reverse for e in ends):
        return False
    near = [a for a in accesses if a.end is None]
    away = [(a.at - expr(loop.dim)).as_int() for a in near]
    own = [a.writes for a, k in zip(near, away, strict=True) if k == 0]
    return bool(own) and own[0] and all(k >= 0 if loop.reverse else k <= 0 for k in away)


def _accesses(
    order: Timeline, tensors: Mapping[str, Tensor], p: Passage, env: Mapping[Dim | Extent, int]
) -> Iterator[_Access]:
    """What a call touches of a history, in order: a statement reads before it writes."""
    slot, round_ = _slot(tensors[p.tensor], p, env), set[tuple[Moment, ...]]()
    dims = {s.name: tuple(d for d in s.dims if d not in s.folded) for s in order.steps}
    found: list[Step | Fill] = [*order.memory.fills, *order.steps]
    calls = [s for s in found if s.time[: len(p.call)] == p.call]
    for s in sorted(calls, key=lambda s: _place_in(s, p)):
        place, loop = _here(s, p)
        for of, at, writes, ranges in _touched(s, dims):
            if _owner(tensors, of) != p.tensor or tensors[of].place == "register":
                continue
            is_shared = s.cut is not None or any(loop.parallel for loop in s.loops)
            if isinstance(p.call[-1], Dim) and is_shared:
                raise Misplaced(f"`{p.tensor}` is touched by several workers")
            index = at[slot]
            free = dims_of(index) if loop is None else dims_of(index - expr(loop.dim))
            other = loop is not None and (index - expr(loop.dim)).terms
            is_full = tensors[of].slots[slot].kind == "full"
            end = next((hi for d, hi in ranges if index == expr(d)), None) if free else None
            if end is not None and loop is not None and is_full:
                leaf = _leaf(s, p)
                if leaf in round_ or not dims_of(end) <= {loop.dim}:
                    raise Misplaced(f"`{p.tensor}` is gone through in no order")
                round_.add(leaf)
                yield _Access(place, loop, index, False, leaf, end)
                continue
            if free or other or not is_full:
                raise Misplaced(f"`{p.tensor}` is not passed through step by step")
            yield _Access(place, loop, index, writes)


def _touched(
    s: Step | Fill, dims: Mapping[str, tuple[Dim, ...]]
) -> Iterator[tuple[str, tuple[Expr, ...], bool, tuple[tuple[Dim, Expr], ...]]]:
    """What a step reads, with the ranges of indices, then what it writes."""
    name = s.of if isinstance(s, Fill) else s.name
    if isinstance(s, Step):
        yield from ((r.of, r.at, False, r.ranges) for r in s.reads)
    yield name, tuple(map(expr, dims.get(name, ()))), True, ()


def _leaf(s: Step | Fill, p: Passage) -> tuple[Moment, ...]:
    """The leaf of a step, whose statements differ at the last place only; one loop is around it."""
    rest = [*dropwhile(lambda t: isinstance(t, Dim), s.time[len(p.call) :])]
    if sum(isinstance(t, Dim) for t in rest) != (not isinstance(p.call[-1], Dim)):
        raise Misplaced(f"`{p.tensor}` is gone through in more than one loop")
    return s.time[:-1]


def _place_in(s: Step | Fill, p: Passage) -> tuple[int, ...]:
    """The order of a step in a call: places only, as loops stand between the same ones."""
    return tuple(t for t in s.time[len(p.call) :] if not isinstance(t, Dim))


def _here(s: Step | Fill, p: Passage) -> tuple[int, Loop | None]:
    """The tree of a kernel that a step is in, and its loop; all of a loop of the driver is one."""
    rest, last = s.time[len(p.call) :], p.call[-1]
    if isinstance(last, Dim):
        return 0, next(loop for loop in s.loops if loop.dim == last)
    outer = next((k for k, t in enumerate(rest) if not isinstance(t, Dim)), 0)
    place, behind = rest[outer], rest[outer + 1 : outer + 2]
    assert not isinstance(place, Dim), "a time has a place"
    (found,) = behind or (0,)
    loops = [loop for loop in s.loops if loop.dim == found]
    return place, loops[0] if isinstance(found, Dim) else None


def _slot(t: Tensor, p: Passage, env: Mapping[Dim | Extent, int]) -> int:
    """The slot of a tensor that its steps are in.

    Errors: Misplaced if there is none.
    """
    sizes = [max(0, evaluate(e, env)) for e in (*(s.extent for s in t.slots), *t.axes)]
    for k, slot in enumerate(t.slots):
        rest = t.item
        for size in sizes[k + 1 :]:
            rest *= size
        if slot.kind == "full" and (sizes[k], rest) == (p.steps, p.step_bytes):
            return k
    raise Misplaced(f"`{t.name}` has no history of {p.steps} steps of {p.step_bytes} bytes")


def _owner(tensors: Mapping[str, Tensor], name: str) -> str:
    return (tensors[name].shares or name) if name in tensors else ""


def _writers(order: Timeline) -> Iterator[tuple[str, tuple[object, ...]]]:
    yield from ((s.name, s.time) for s in order.steps)
    yield from ((f.of, f.time) for f in order.memory.fills)


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
