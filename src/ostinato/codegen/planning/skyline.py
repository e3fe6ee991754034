"""Places for rectangles of phases and bytes, from the bottom up.

Phases run along a line of heights. Its lowest stretch gets a chain of pieces, each of which begins
where the last one ends. Of all chains that is best which leaves the fewest phases bare and has the
largest weight; tops that meet, of neighbours or of the walls beside the stretch, count as well.
Where no piece fits, the stretch rises to the lower wall.

Source: Burke, Kendall and Whitwell 2004, A new placement heuristic, for the lowest stretch; here
places along the line are given, so that a whole chain can be chosen.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from heapq import heappop, heappush

from ostinato.codegen.planning.rectangles import Rectangle

LOOKED_AT = 16  # lives that begin together, the longest
WINDOW = 256  # lives in a stretch among which a chain is looked for
BARE = 3.0  # what a phase without a piece costs, in mean weights
MEETS, JOINS = 1.0, 10.0  # what equal tops are worth: of neighbours, and with a wall

Chain = tuple[float, Rectangle, "Chain | None"]  # its value, its last piece, those before


class Line:
    """The heights between marks, as stretches; those in ``lowest`` that are gone are passed by.

    Pieces have names of their own, and ``weights`` say what each adds to a chain.
    """

    def __init__(self, pieces: Sequence[Rectangle], weights: Mapping[str, float]) -> None:
        """Place all; of pieces of one life the heaviest is placed first."""
        self.weights = weights
        self.offsets, self.total, self.left = dict[str, int](), 0, len(pieces)
        count = max((p.end for p in pieces), default=0)
        self.alike: dict[tuple[int, int], list[Rectangle]] = {}
        for p in sorted(pieces, key=lambda p: (weights[p.name], p.name)):
            self.alike.setdefault((p.first, p.end), []).append(p)
        self.ends: list[list[int]] = [[] for _ in range(count)]  # of what begins at each mark
        for first, end in sorted(self.alike):
            self.ends[first].append(end)
        self.following = [k if ends else k + 1 for k, ends in enumerate(self.ends)] + [count]
        self.end, self.height = {0: count}, {0: 0}  # of the stretches, by their start
        self.start = {count: 0}  # by their end
        self.lowest = [(0, 0, count)]
        while self.left:
            self.proceed()

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

    def take(self, p: Rectangle) -> None:
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
