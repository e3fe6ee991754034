"""The transfers of a run over time: what the kernel computes, what the link carries, who waits."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

WIDTH = 60  # characters of a bar
Bar = tuple[float, float]  # from, to


class Room(Protocol):
    """Steps of so many bytes, in blocks of so many steps of each row."""

    @property
    def steps(self) -> int: ...
    @property
    def step_bytes(self) -> int: ...
    @property
    def block_steps(self) -> int: ...
    @property
    def rows(self) -> int: ...


class Passage(Protocol):
    """The transfers of a history: see `ostinato.codegen.planning.transfers`."""

    @property
    def copies(self) -> int: ...
    @property
    def room(self) -> Room: ...
    @property
    def visits(self) -> Sequence[tuple[int, int]]: ...
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
    spans = _spans(passages, compute_ns)
    clock = done = free = 0.0
    working, moving, moved = list[Bar](), list[Bar](), 0
    ends: list[dict[int, float]] = [{} for _ in passages]
    at = [0] * len(passages)
    for when, k, point in sorted(_arrivals(passages, spans, compute_ns)):
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
        is_round = [not count for _, count in p.visits]
        places = [p.visits[visit][0] for visit, _ in p.points]
        counts = Counter(
            place for place, (v, _) in zip(places, p.points, strict=True) if not is_round[v]
        )
        seen, when, inside = Counter[int](), 0.0, list[int]()
        for point, (visit, _) in enumerate(p.points):
            if is_round[visit]:
                inside.append(point)
                continue
            place = places[point]
            first, end = spans[place]
            before, when = when, first + (end - first) * seen[place] / counts[place]
            seen[place] += 1
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
