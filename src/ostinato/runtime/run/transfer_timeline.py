"""The transfers of a run over time: what the kernel computes, what the link carries, who waits."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from ostinato.runtime.machine_code.arena_layout import Passage, Room

WIDTH = 60  # characters of a bar
Bar = tuple[float, float]  # from, to


@dataclass(frozen=True, slots=True)
class TransferTimeline:
    """A call of a kernel with its transfers, as predicted, in nanoseconds from its beginning.

    ``working`` is when it computes, else it waits; ``moving`` when the link is in use.
    """

    kernel: str
    compute_ns: float
    bytes: int
    working: tuple[Bar, ...]
    moving: tuple[Bar, ...]

    @property
    def end_ns(self) -> float:
        return max((end for _, end in (*self.working, *self.moving)), default=0.0)

    @property
    def wait_ns(self) -> float:
        return self.end_ns - self.compute_ns

    def __str__(self) -> str:
        link = sum(end - first for first, end in self.moving)
        times = f"computes {self.compute_ns / 1e6:,.4g} ms, waits {self.wait_ns / 1e6:,.4g} ms"
        moved = f"moves {self.bytes:,} bytes in {link / 1e6:,.4g} ms"
        bars = [f"  {name}  {_bar(of, self.end_ns)}" for name, of in (
            ("compute", self.working), ("link   ", self.moving)
        )]  # fmt: skip
        return "\n".join([f"a call of {self.kernel} {times}, {moved}", *bars])


def _bar(of: Sequence[Bar], end: float) -> str:
    """A line with a # where most of a character's time is in the bars, a - where some is."""
    each = end / WIDTH or 1.0
    filled = [0.0] * WIDTH
    for first, last in of:
        for k in range(int(first / each), min(WIDTH, int(last / each) + 1)):
            filled[k] += max(0.0, min(last, (k + 1) * each) - max(first, k * each)) / each
    return "".join("#" if x > 0.5 else "-" if x > 0 else "." for x in filled)


def simulated(
    kernel: str, passages: Sequence[Passage], compute_ns: float, link_ns: float
) -> TransferTimeline:
    """Return what a call of a kernel does that computes for so long, at a rate of the link.

    Steps take equal times, and so do rounds in a block of them. The link carries one transfer after
    the other, in the order of issue, of all copies of a history. What comes many times over is as
    if each of its points and transfers did so before the next.
    """
    spans = _spans(passages, compute_ns)
    clock = done = free = 0.0
    working, moving, moved = list[Bar](), list[Bar](), 0
    ends: list[dict[int, float]] = [{} for _ in passages]
    at = [0] * len(passages)
    transfers = [_transfers(p) for p in passages]
    for when, k, point in sorted(_arrivals(passages, spans, compute_ns)):
        p = passages[k]
        if when > done:
            working.append((clock, clock + when - done))
            clock, done = clock + when - done, when
        while at[k] < len(transfers[k]) and transfers[k][at[k]][2] <= point:
            way, block, _, due, times = transfers[k][at[k]]
            size = 0 if way == "drop" else times * p.copies * _bytes(p.room, block)
            first = max(free, clock)
            free = first + size * link_ns
            moving += [(first, free)] if size else []
            moved += size
            ends[k][due] = max(ends[k].get(due, 0.0), free)
            at[k] += 1
        for due in [due for due in ends[k] if due <= point]:
            clock = max(clock, ends[k].pop(due))
    return TransferTimeline(kernel, compute_ns, moved, tuple(working), tuple(moving))


def _transfers(p: Passage) -> list[tuple[str, int, int, int, int]]:
    """The transfers of all parts, as if each were done once, with how many times it is."""
    found, first = list[tuple[str, int, int, int, int]](), 0
    for part in p.parts:
        for way, block, issued, due in part.transfers:
            found.append((way, block, first + issued, first + due, part.times))
        first += len(part.points)
    return found


def _bytes(room: Room, block: int) -> int:
    steps = min(room.block_steps, room.steps - block * room.block_steps)
    return room.rows * steps * room.step_bytes


def _spans(passages: Sequence[Passage], compute_ns: float) -> Mapping[int, Bar]:
    """When each tree of a kernel's body computes."""
    steps: dict[int, int] = {}
    for p in passages:
        own: dict[int, int] = {}
        for place, count in p.visits:
            own[place] = own.get(place, 0) + count
        steps = {k: max(steps.get(k, 0), own.get(k, 0)) for k in steps | own}
    step_ns, first, found = compute_ns / max(1, sum(steps.values())), 0.0, dict[int, Bar]()
    for place in sorted(steps):
        found[place] = first, first + steps[place] * step_ns
        first = found[place][1]
    return found


def _arrivals(
    passages: Sequence[Passage], spans: Mapping[int, Bar], end_ns: float
) -> Iterator[tuple[float, int, int]]:
    """The time of computing at which a history arrives at a point.

    Points of loops share out the time of their tree. Points of rounds share out the time up to the
    next block of the loop that they are made in.
    """
    for k, p in enumerate(passages):
        points = [(visit, part.times) for part in p.parts for visit, _ in part.points]
        is_round = [not count for _, count in p.visits]
        counts, seen = Counter[int](), Counter[int]()
        for visit, times in points:
            counts[p.visits[visit][0]] += 0 if is_round[visit] else times
        when, inside = 0.0, list[tuple[int, int]]()
        for point, (visit, times) in enumerate(points):
            if is_round[visit]:
                inside.append((point, times))
                continue
            place = p.visits[visit][0]
            first, end = spans[place]
            before, when = when, first + (end - first) * seen[place] / counts[place]
            seen[place] += times
            yield from _shared_out(k, inside, before, when)
            inside.clear()
            yield when, k, point
        yield from _shared_out(k, inside, when, end_ns)
        yield end_ns, k, len(points)


def _shared_out(
    k: int, points: Sequence[tuple[int, int]], first_ns: float, end_ns: float
) -> Iterator[tuple[float, int, int]]:
    each, before = (end_ns - first_ns) / max(1, sum(times for _, times in points)), 0
    for point, times in points:
        yield first_ns + each * before, k, point
        before += times
