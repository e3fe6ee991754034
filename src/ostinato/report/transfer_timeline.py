"""The transfers of a run over time: what the kernel computes, what the link carries, who waits."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

WIDTH = 60  # characters of a bar
Bar = tuple[float, float]  # from, to


class Room(Protocol):
    """Steps of so many bytes, in blocks of so many steps."""

    @property
    def steps(self) -> int: ...
    @property
    def step_bytes(self) -> int: ...
    @property
    def block_steps(self) -> int: ...


class Passage(Protocol):
    """The transfers of a history: see `ostinato.codegen.planning.transfers`."""

    @property
    def copies(self) -> int: ...
    @property
    def room(self) -> Room: ...
    @property
    def visits(self) -> Sequence[tuple[int, int, int]]: ...
    @property
    def points(self) -> Sequence[tuple[int, int]]: ...
    @property
    def transfers(self) -> Sequence[tuple[str, int, int, int]]: ...


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
    the other, in the order of issue, of all copies of a history.
    """
    spans = {place: count for p in passages for place, _, count in p.visits if count}
    step_ns, started = compute_ns / max(1, sum(spans.values())), dict[int, int]()
    for place in sorted(spans):
        started[place] = sum(spans[k] for k in started)
    clock = done = free = 0.0
    working, moving, moved = list[Bar](), list[Bar](), 0
    ends: list[dict[int, float]] = [{} for _ in passages]
    at = [0] * len(passages)
    for when, k, point in sorted(_arrivals(passages, started, step_ns, compute_ns)):
        p = passages[k]
        if when > done:
            working.append((clock, clock + when - done))
            clock, done = clock + when - done, when
        while at[k] < len(p.transfers) and p.transfers[at[k]][2] <= point:
            way, block, _, due = p.transfers[at[k]]
            size = 0 if way == "drop" else p.copies * _bytes(p.room, block)
            first = max(free, clock)
            free = first + size * link_ns
            moving += [(first, free)] if size else []
            moved += size
            ends[k][due] = max(ends[k].get(due, 0.0), free)
            at[k] += 1
        for due in [due for due in ends[k] if due <= point]:
            clock = max(clock, ends[k].pop(due))
    return TransferTimeline(kernel, compute_ns, moved, tuple(working), tuple(moving))


def _bytes(room: Room, block: int) -> int:
    return min(room.block_steps, room.steps - block * room.block_steps) * room.step_bytes


def _arrivals(
    passages: Sequence[Passage], started: dict[int, int], step_ns: float, end_ns: float
) -> Iterator[tuple[float, int, int]]:
    """The time of computing at which a history arrives at a point.

    Points of rounds share out the time up to the next block of the loop that they are made in.
    """
    for k, p in enumerate(passages):
        falls = [_falls(p, visit) for visit in range(len(p.visits))]
        when, inside = 0.0, list[int]()
        for point, (visit, block) in enumerate(p.points):
            place, first, count = p.visits[visit]
            if not count:
                inside.append(point)
                continue
            low, high = (
                block * p.room.block_steps,
                min(p.room.steps, (block + 1) * p.room.block_steps) - 1,
            )
            behind = first - high if falls[visit] else low - first
            before, when = when, (started[place] + max(0, behind)) * step_ns
            yield from _shared_out(k, inside, before, when)
            inside.clear()
            yield when, k, point
        yield from _shared_out(k, inside, when, end_ns)
        yield end_ns, k, len(p.points)


def _shared_out(
    k: int, points: Sequence[int], first_ns: float, end_ns: float
) -> Iterator[tuple[float, int, int]]:
    each = (end_ns - first_ns) / max(1, len(points))
    yield from ((first_ns + each * n, k, point) for n, point in enumerate(points))


def _falls(p: Passage, visit: int) -> bool:
    """Whether a visit comes to later blocks first."""
    blocks = [block for of, block in p.points if of == visit]
    return len(blocks) > 1 and blocks[0] > blocks[-1]
