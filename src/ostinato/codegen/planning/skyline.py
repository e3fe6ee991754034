"""Places for blocks of memory, from the bottom up.

Phases run along a line of heights. The lowest stretch of it gets a block that begins where the
first one may, or ends where the last one may: the more of its sides meet those of the stretch, and
of its top those of the neighbours, the better, and a large one before a small one. Where none fits,
the stretch rises to the lower neighbour. Where this leaves gaps, it is tried again with other
blocks first, a number of times that falls with the number of blocks.

Source: Burke, Kendall and Whitwell 2004, A new placement heuristic; here places along the line are
given, so that only two lists of blocks are looked at.
"""

from __future__ import annotations

import random
from bisect import bisect_left
from collections.abc import Callable, Mapping, Sequence
from heapq import heappop, heappush
from typing import NamedTuple, Protocol


class Block(Protocol):
    """A size, and the first and last phase of use."""

    @property
    def name(self) -> str: ...
    @property
    def size(self) -> int: ...
    @property
    def first(self) -> int: ...
    @property
    def last(self) -> int: ...


Offsets = dict[str, int]
Score = Callable[["_Piece", float, int, int], tuple[float, ...]]  # weight, sides, tops that meet
MOST_TRIES, LEAST_TRIES = 32, 2
BLOCKS = 6_000  # that all tries place
LOOKED_AT = 16  # blocks of one life, or that begin or end together


class _Piece(NamedTuple):
    """A block between two marks of the line."""

    name: str
    size: int
    first: int
    end: int


def packed(blocks: Sequence[Block], bound: int) -> tuple[Offsets, int]:
    """Return the offset of every block and the height of all, which is ``bound`` at the least."""
    best, least = dict[str, int](), -1
    pieces = _pieces(blocks)
    for k in range(tries(len(blocks))):
        found, height = _stacked(pieces, k)
        if least < 0 or height < least:
            best, least = found, height
        if least == bound:
            break
    return best, max(0, least)


def tries(count: int) -> int:
    """How often so many blocks are placed where the bound is not reached."""
    return max(LEAST_TRIES, min(MOST_TRIES, BLOCKS // max(1, count)))


def _pieces(blocks: Sequence[Block]) -> list[_Piece]:
    """The blocks in an order that does not depend on the given one."""
    marks = sorted({m for b in blocks for m in (b.first, b.last + 1)})
    place = {mark: k for k, mark in enumerate(marks)}
    return sorted(_Piece(b.name, b.size, place[b.first], place[b.last + 1]) for b in blocks)


def _stacked(pieces: Sequence[_Piece], number: int) -> tuple[Offsets, int]:
    """The offset of every piece and the height of all, as one try finds them."""
    chance, score = random.Random(number), _by_area if number % 2 == 0 else _by_length
    if number < LEAST_TRIES:
        weights = dict.fromkeys((p.name for p in pieces), 1.0)
    else:
        weights = {p.name: chance.random() for p in pieces}
    line = _Line(pieces, score, weights)
    while line.left:
        line.proceed()
    return line.offsets, line.total


def _by_area(p: _Piece, weight: float, sides: int, tops: int) -> tuple[float, ...]:
    return sides + tops, weight * (p.end - p.first) * p.size


def _by_length(p: _Piece, weight: float, sides: int, tops: int) -> tuple[float, ...]:
    return sides, tops, weight * (p.end - p.first), p.size


Row = tuple[int, int, str, _Piece]  # where its other side is, size, name: all differ


def _last(rows: Sequence[Row], side: int) -> Sequence[Row]:
    """The longest that fit, of which the largest are looked at."""
    count = bisect_left(rows, (side + 1,))
    return rows[max(0, count - LOOKED_AT) : count]


class _Line:
    """The heights between marks, as stretches; those in ``lowest`` that are gone are passed by."""

    def __init__(
        self, pieces: Sequence[_Piece], score: Score, weights: Mapping[str, float]
    ) -> None:
        """A line of height 0; of pieces that begin or end together the shortest come first."""
        self.score, self.weights = score, weights
        self.offsets, self.total, self.left = dict[str, int](), 0, len(pieces)
        count = max((p.end for p in pieces), default=0)
        self.starting: list[list[Row]] = [[] for _ in range(count)]
        self.ending: list[list[Row]] = [[] for _ in range(count + 1)]
        for p in pieces:
            self.starting[p.first].append((p.end, p.size, p.name, p))
            self.ending[p.end].append((-p.first, p.size, p.name, p))
        for rows in (*self.starting, *self.ending):
            rows.sort()
        self.end, self.height = {0: count}, {0: 0}  # of the stretches, by their start
        self.start = {count: 0}  # by their end
        self.lowest = [(0, 0, count)]

    def proceed(self) -> None:
        """Put a piece on the lowest stretch, or raise it."""
        height, start, end = heappop(self.lowest)
        if self.end.get(start) != end or self.height[start] != height:
            return
        before = self.height[self.start[start]] if start else None
        behind = self.height.get(end)
        chosen = self.chosen(start, end, before, behind)
        if chosen is None:
            self.raise_to(start, end, min(h for h in (before, behind) if h is not None))
            return
        for rows, side in (
            (self.starting[chosen.first], chosen.end),
            (self.ending[chosen.end], -chosen.first),
        ):
            del rows[bisect_left(rows, (side, chosen.size, chosen.name))]
        self.left -= 1
        self.offsets[chosen.name] = height
        self.total = max(self.total, height + chosen.size)
        if start < chosen.first:
            self.put(start, chosen.first, height)
        if chosen.end < end:
            self.put(chosen.end, end, height)
        self.raise_to(chosen.first, chosen.end, height + chosen.size)

    def chosen(self, start: int, end: int, before: int | None, behind: int | None) -> _Piece | None:
        """The best piece for a stretch, of those at its borders."""
        low = self.height[start]
        inside = (
            k for k in range(start, end) if self.starting[k] and self.starting[k][0][0] <= end
        )
        first = next(inside, None)
        if first is None:
            return None
        fits = (
            k for k in range(end, start, -1) if self.ending[k] and -self.ending[k][0][0] >= start
        )
        last = next(fits)
        best, most = None, tuple[float, ...]()
        for *_, p in (*_last(self.starting[first], end), *_last(self.ending[last], -start)):
            sides = (p.first == first) + (p.end == last)
            meets = p.first == start and low + p.size == before
            tops = meets + (p.end == end and low + p.size == behind)
            found = self.score(p, self.weights[p.name], sides, tops)
            if best is None or found > most:
                best, most = p, found
        return best

    def put(self, start: int, end: int, height: int) -> None:
        """A stretch, whatever was there."""
        self.end[start], self.start[end], self.height[start] = end, start, height
        heappush(self.lowest, (height, start, end))

    def raise_to(self, start: int, end: int, height: int) -> None:
        """A stretch, joined with neighbours of the same height."""
        if start and self.height[self.start[start]] == height:
            self.height.pop(start, None)
            self.end.pop(start, None)
            start = self.start[start]
        if self.height.get(end) == height:
            del self.height[end]
            end = self.end.pop(end)
        self.put(start, end, height)
