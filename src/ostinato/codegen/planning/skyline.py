"""Places for blocks of memory, from the bottom up.

Phases run along a line of heights. Its lowest stretch gets a chain of blocks, each of which begins
where the last one ends. Of all chains that is best which leaves the fewest phases bare and has the
largest weight; tops that meet, of neighbours or of the walls beside the stretch, count as well.
Where no block fits, the stretch rises to the lower wall. Where this leaves gaps, it is tried again
with larger weights of the blocks that came out on top, a number of times that falls with the
number of blocks.

Sources: Burke, Kendall and Whitwell 2004, A new placement heuristic, for the lowest stretch; here
places along the line are given, so that a whole chain can be chosen. Joslin and Clements 1999,
Squeaky wheel optimization, for the weights.
"""

from __future__ import annotations

import random
from bisect import bisect_right
from collections.abc import Mapping, Sequence
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
MOST_TRIES, LEAST_TRIES = 32, 2
BLOCKS = 5_000  # that all tries place
TOP = 0.97  # of the height of all: what lies above comes earlier in the next try
LOOKED_AT = 16  # lives that begin together, the longest
WINDOW = 256  # lives in a stretch among which a chain is looked for
BARE = 3.0  # what a phase without a block costs, in mean weights
MEETS, JOINS = 1.0, 10.0  # what equal tops are worth: of neighbours, and with a wall


class _Piece(NamedTuple):
    """A block between two marks of the line."""

    name: str
    size: int
    first: int
    end: int


def packed(blocks: Sequence[Block], bound: int) -> tuple[Offsets, int]:
    """Return the offset of every block and the height of all, which is ``bound`` at the least."""
    best, least = dict[str, int](), -1
    empty = {b.name: 0 for b in blocks if not b.size}
    pieces, chance = _pieces(blocks), random.Random(0)
    urgency = {p.name: 1.0 for p in pieces}
    for k in range(tries(len(blocks))):
        line = _Line(pieces, _weights(pieces, k, urgency, chance))
        while line.left:
            line.proceed()
        if least < 0 or line.total < least:
            best, least = line.offsets, line.total
        if least == bound:
            break
        for p in pieces:
            if line.offsets[p.name] + p.size > TOP * line.total:
                urgency[p.name] *= 1.0 + chance.random()
    return best | empty, max(0, least)


def tries(count: int) -> int:
    """How often so many blocks are placed where the bound is not reached."""
    return max(LEAST_TRIES, min(MOST_TRIES, BLOCKS // max(1, count)))


def _pieces(blocks: Sequence[Block]) -> list[_Piece]:
    """The blocks that take room, in an order that does not depend on the given one."""
    blocks = [b for b in blocks if b.size]
    marks = sorted({m for b in blocks for m in (b.first, b.last + 1)})
    place = {mark: k for k, mark in enumerate(marks)}
    return sorted(_Piece(b.name, b.size, place[b.first], place[b.last + 1]) for b in blocks)


def _weights(
    pieces: Sequence[_Piece], number: int, urgency: Mapping[str, float], chance: random.Random
) -> dict[str, float]:
    """What a piece adds to a chain: in turns long pieces first, and as few as can be."""
    if number % 2:
        weights = [-1.0 / urgency[p.name] for p in pieces]
    else:
        areas = [(p.end - p.first) ** 2 * p.size**0.25 for p in pieces]
        mean = sum(areas) / max(1, len(areas)) or 1.0
        weights = [a / mean * urgency[p.name] for a, p in zip(areas, pieces, strict=True)]
    shares = [1.0 if number < LEAST_TRIES else 0.5 + chance.random() for _ in pieces]
    return {p.name: w * s for p, w, s in zip(pieces, weights, shares, strict=True)}


Chain = tuple[float, _Piece, "Chain | None"]  # its value, its last piece, those before


class _Line:
    """The heights between marks, as stretches; those in ``lowest`` that are gone are passed by."""

    def __init__(self, pieces: Sequence[_Piece], weights: Mapping[str, float]) -> None:
        """A line of height 0; of pieces of one life the heaviest comes last."""
        self.weights = weights
        self.offsets, self.total, self.left = dict[str, int](), 0, len(pieces)
        count = max((p.end for p in pieces), default=0)
        self.alike: dict[tuple[int, int], list[_Piece]] = {}
        for p in sorted(pieces, key=lambda p: (weights[p.name], p)):
            self.alike.setdefault((p.first, p.end), []).append(p)
        self.ends: list[list[int]] = [[] for _ in range(count)]  # of what begins at each mark
        for first, end in sorted(self.alike):
            self.ends[first].append(end)
        self.following = [k if ends else k + 1 for k, ends in enumerate(self.ends)] + [count]
        self.end, self.height = {0: count}, {0: 0}  # of the stretches, by their start
        self.start = {count: 0}  # by their end
        self.lowest = [(0, 0, count)]

    def proceed(self) -> None:
        """Put a chain on the lowest stretch, or raise it."""
        height, start, end = heappop(self.lowest)
        if self.end.get(start) != end or self.height[start] != height:
            return
        walls = self.height[self.start[start]] if start else None, self.height.get(end)
        chain = self.chain(start, end, *walls)
        if chain is None:
            self.raise_to(start, end, min(h for h in walls if h is not None))
        while chain is not None:
            _, p, chain = chain
            self.take(p)
            self.offsets[p.name] = height
            self.total = max(self.total, height + p.size)
            if p.end < end:
                self.put(p.end, end, height)
            if start < p.first:
                self.put(start, p.first, height)
            self.raise_to(p.first, p.end, height + p.size)
            end = p.first

    def take(self, p: _Piece) -> None:
        """No chain has this piece any more."""
        assert self.alike[p.first, p.end].pop() is p, f"{p.name} is not the heaviest of its life"
        self.left -= 1
        if not self.alike[p.first, p.end]:
            self.ends[p.first].remove(p.end)
        if not self.ends[p.first]:
            self.following[p.first] = p.first + 1

    def chain(self, start: int, end: int, before: int | None, behind: int | None) -> Chain | None:
        """The best chain of pieces for a stretch, of which one may stand alone.

        At a mark where pieces begin it is known what the best chain before is worth.
        """
        if end in self.ends[start]:
            return 0.0, self.alike[start, end][-1], None
        low, seen, mark = self.height[start], 0, start
        value, last = 0.0, None
        ending, tops = dict[int, Chain](), dict[tuple[int, int], Chain]()
        k = self.beginning(start)
        while k < end and seen <= WINDOW:
            value, mark = value - BARE * (k - mark), k
            found = ending.pop(k, None)
            if found is not None and found[0] > value:
                value, last = found[0], found
            ends = self.ends[k]
            fit = bisect_right(ends, end)
            for to in ends[max(0, fit - LOOKED_AT) : fit]:
                seen += 1
                p = self.alike[k, to][-1]
                total, link = value, last
                flat = tops.get((k, p.size))
                if flat is not None and flat[0] + MEETS > value:
                    total, link = flat[0] + MEETS, flat
                total += self.weights[p.name]
                if k == start and before == low + p.size:
                    total += JOINS
                if to == end and behind == low + p.size:
                    total += JOINS
                if (to, p.size) not in tops or total > tops[to, p.size][0]:
                    tops[to, p.size] = total, p, link
                at = min(end, self.beginning(to))
                total -= BARE * (at - to)
                if at not in ending or total > ending[at][0]:
                    ending[at] = total, p, link
            k = self.beginning(k + 1)
        value -= BARE * (end - mark)
        for at, found in ending.items():
            if last is None or found[0] - BARE * (end - at) > value:
                value, last = found[0] - BARE * (end - at), found
        return last

    def beginning(self, mark: int) -> int:
        """The first mark from one on where pieces begin, or the end of the line."""
        found = mark
        while self.following[found] != found:
            found = self.following[found]
        while mark != found:  # the next search is short
            self.following[mark], mark = found, self.following[mark]
        return found

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
