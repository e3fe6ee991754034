"""Tensors that take each other's places, as one rectangle of phases and bytes.

Where memory is full, what ends at a mark has as many bytes as what begins there. A few tensors
whose sizes add up to the same are a *row*: those of one life on either side are stacked, and the
two stacks are one rectangle. Tensors of one life that add up only with a third one are a *stack*.
Five around each other are a *wheel*, which no straight line parts. What is made so is joined again.

Equal sums may be an accident. How many are to be expected among all that are compared is known, so
that the least likely accidents come first. At last sums count that are nearly equal.

Sources: Wong and Liu 1986, A new algorithm for floorplan design: rows and stacks, undone cut by
cut; Wang and Wong 1992, Optimal floorplan area optimization: the wheel.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import NamedTuple

FEW = 5  # of one life: of these all threes are stacked, of twice as many all twos
MOST = 16  # tensors on a side of a mark, where those are looked for that add up with a third one


class Stage(NamedTuple):
    """By which share sums may differ, and how many accidents may be expected."""

    near: float
    accidents: float


EXACT = (Stage(0.0, 0.05), Stage(0.0, 0.2), Stage(0.0, 0.5), Stage(0.0, 1.0))
MANY = 3  # where more than this part of the tensors is left, nearly equal sums count
NEARLY = (Stage(0.01, 0.05), Stage(0.02, 0.2), Stage(0.03, 0.5))


@dataclass(eq=False, slots=True)
class Rectangle:
    """A tensor between two marks, or others at offsets ``inside``, with the name of the first."""

    size: int
    first: int
    end: int
    name: str = ""
    inside: tuple[tuple[int, Rectangle], ...] = ()
    is_joined: bool = False

    def offsets(self, at: int) -> Iterator[tuple[str, int]]:
        """Where the tensors lie if the rectangle lies there."""
        todo = [(at, self)]
        while todo:
            at, r = todo.pop()
            if not r.inside:
                yield r.name, at
            todo += [(at + offset, each) for offset, each in r.inside]


def joined(tensors: Sequence[Rectangle]) -> list[Rectangle]:
    """The rectangles that so many tensors make."""
    joins = Joins(tensors)
    joins.run(EXACT)
    if MANY * len(joins.left) > len(tensors):
        joins.run(NEARLY)
    while joins.join_alike():
        joins.settle(joins.touched)
    return joins.left


Few = tuple[Rectangle, ...]
Groups = dict[int, list[Rectangle]]  # of one side of a mark, by their other end


class Joins:
    """Rectangles, of which some become one until no more are found."""

    def __init__(self, rectangles: Sequence[Rectangle]) -> None:
        """Nothing is joined yet."""
        self.ending, self.beginning = defaultdict[int, Groups](dict), defaultdict[int, Groups](dict)
        self.unit = math.gcd(*(r.size for r in rectangles))
        self.stage = EXACT[0]
        self.touched = set[int]()  # marks where rectangles are not those that were compared last
        for r in rectangles:
            self.add(r)

    @property
    def left(self) -> list[Rectangle]:
        """The rectangles, in an order that depends on nothing else."""
        return [r for m in sorted(self.beginning) for r in _all(self.beginning[m])]

    def add(self, r: Rectangle) -> Rectangle:
        """One more."""
        same = self.beginning[r.first].setdefault(r.end, [])
        same.append(r)
        self.ending[r.end][r.first] = same
        self.touched |= {r.first, r.end}
        return r

    def join(self, placed: Iterable[tuple[int, Rectangle]]) -> Rectangle:
        """One instead of those at these offsets."""
        placed = tuple(placed)
        for _, r in placed:
            r.is_joined = True
            same = self.beginning[r.first][r.end]
            same.remove(r)
            if not same:
                del self.beginning[r.first][r.end], self.ending[r.end][r.first]
            self.touched |= {r.first, r.end}
        size = max(at + r.size for at, r in placed)
        first, end = min(r.first for _, r in placed), max(r.end for _, r in placed)
        return self.add(Rectangle(size, first, end, placed[0][1].name, placed))

    def stack(self, few: Sequence[Rectangle]) -> Rectangle:
        """Those of one life above each other."""
        if len(few) == 1:
            return few[0]
        at, placed = 0, list[tuple[int, Rectangle]]()
        for r in few:
            placed.append((at, r))
            at += r.size
        return self.join(placed)

    def run(self, stages: Sequence[Stage]) -> None:
        """Join what is found, the surest first."""
        for self.stage in stages:
            self.settle({*self.beginning, *self.ending})

    def settle(self, marks: set[int]) -> None:
        """Join what is found at marks, and at those that change by it."""
        for_rows = for_stacks = marks
        while for_rows:
            self.touched = set[int]()
            self.join_rows(for_rows)
            self.join_wheels(for_rows | self.touched)
            for_stacks, for_rows = for_stacks | self.touched, self.touched
            if not for_rows:
                self.join_stacks(for_stacks)
                for_stacks, for_rows = set[int](), self.touched

    def join_rows(self, marks: Iterable[int]) -> None:
        """Join what ends and what begins at these marks; few first, as these are the surest."""
        found = [row for m in sorted(marks) for row in self.rows(m)]
        found.sort(key=lambda row: (len(row[1]) + len(row[2]) > 3, row[0]))
        for _, before, behind in found:
            if not any([r.is_joined for r in before + behind]):
                self.join([(0, self.stack(before)), (0, self.stack(behind))])

    def rows(self, mark: int) -> Iterator[tuple[float, Few, Few]]:
        """What adds up to the same before and behind a mark, with the accidents to expect."""
        if not self.ending[mark] or not self.beginning[mark]:
            return
        ends, starts = _stacks(self.ending[mark]), _stacks(self.beginning[mark])
        starts.sort(key=lambda found: found[0])
        sums = [size for size, _ in starts]
        shares = _counted(ends), _counted(starts)
        for size, before in ends:
            for k in self.alike(sums, size):
                other, behind = starts[k]
                compared = shares[0][len(before)] * shares[1][len(behind)]
                accidents = self.accidents(compared, size, other)
                if accidents < self.stage.accidents:
                    yield accidents, before, behind

    def alike(self, sums: Sequence[int], size: int) -> range:
        """Where in sorted sums those are that are equal, or the one that is nearest."""
        k = bisect_left(sums, size)
        end, last = k, min(len(sums), k + FEW)
        while end < last and sums[end] == size:
            end += 1
        if k < end or not self.stage.near:
            return range(k, end)
        nearest = min(
            range(max(0, k - 1), min(k + 1, len(sums))), key=lambda j: abs(sums[j] - size)
        )
        is_near = abs(sums[nearest] - size) <= self.stage.near * size
        return range(nearest, nearest + is_near)

    def accidents(self, compared: int, size: int, other: int) -> float:
        """How many of so many pairs of sums are as near to each other by accident."""
        return compared * (abs(size - other) + self.unit) / max(size, other)

    def join_wheels(self, marks: Iterable[int]) -> None:
        """Join five around each other; the inner one touches these marks."""
        for m in sorted(marks):
            for inner in _few(self.ending[m]) + _few(self.beginning[m]):
                found = None if inner.is_joined else self.wheel(inner)
                if found is not None:
                    low, right, high, left = found
                    top = max(right.size, low.size + inner.size)
                    around = [(0, low), (0, right), (top, high), (low.size, left)]
                    self.join([*around, (low.size, inner)])

    def wheel(self, inner: Rectangle) -> tuple[Rectangle, Rectangle, Rectangle, Rectangle] | None:
        """What is below, behind, above and before an inner one, or the same upside down.

        Below and before begin together, above and behind end together.
        """
        if len(self.ending[inner.first]) > MOST or len(self.beginning[inner.end]) > MOST:
            return None
        for first, left in self.ending[inner.first].items():
            low = self.ending[inner.end].get(first)
            if low is None:
                continue
            for end, high in self.beginning[inner.first].items():
                right = self.beginning[inner.end].get(end)
                one = right and self.fit(high, left, inner)
                other = one and right and self.fit(low, right, inner)
                if one and other:
                    return other[0], other[1], one[0], one[1]
        return None

    def fit(
        self, less: Sequence[Rectangle], more: Sequence[Rectangle], inner: Rectangle
    ) -> tuple[Rectangle, Rectangle] | None:
        """Two of which one is higher by an inner one."""
        room = self.stage.near * inner.size
        for x in less:
            for y in more:
                if abs(x.size + inner.size - y.size) <= room:
                    return x, y
        return None

    def join_stacks(self, marks: Iterable[int]) -> None:
        """Join two of one life that add up with others at these marks."""
        found = [pair for m in sorted(marks) for pair in self.pairs(m)]
        found.sort(key=lambda pair: pair[0])
        for _, x, y in found:
            if not x.is_joined and not y.is_joined:
                self.stack((x, y))

    def pairs(self, mark: int) -> Iterator[tuple[float, Rectangle, Rectangle]]:
        """Two of one life that, with a third one or without, are as large as one or two others."""
        for groups, others in (
            (self.ending[mark], self.beginning[mark]),
            (self.beginning[mark], self.ending[mark]),
        ):
            side, other = _few(groups), _few(others)
            if not other or len(side) <= len(groups):
                continue
            twos = [x.size + y.size for x, y in combinations(other, 2)]
            sums = sorted([*(r.size for r in other), *twos])
            of_one_life = [pair for same in groups.values() for pair in combinations(same, 2)]
            compared = len(of_one_life) * len(side) * len(sums)
            for x, y in of_one_life:
                for third in (0, *(r.size for r in side if r is not x and r is not y)):
                    size = x.size + y.size + third
                    for k in self.alike(sums, size):
                        accidents = self.accidents(compared, size, sums[k])
                        if accidents < self.stage.accidents:
                            yield accidents, x, y

    def join_alike(self) -> bool:
        """Stack those of one life where lives are longest: these are the fewest by accident."""
        groups = [g for m in sorted(self.beginning) for g in self.beginning[m].values()]
        alike = [g for g in groups if len(g) > 1]
        longest = max((g[0].end - g[0].first for g in alike), default=0)
        self.touched = set[int]()
        for same in alike:
            if same[0].end - same[0].first > longest // 2:
                self.stack(tuple(same))
        return bool(alike)


def _all(groups: Groups) -> list[Rectangle]:
    return [r for same in groups.values() for r in same]


def _few(groups: Groups) -> list[Rectangle]:
    """All of a side, or none if they are many."""
    found = _all(groups)
    return found if len(found) <= MOST else []


def _stacks(groups: Groups) -> list[tuple[int, Few]]:
    """Those of one life, one by one and together, with their size."""
    out = list[tuple[int, Few]]()
    for same in groups.values():
        count = len(same)
        most = 3 if count <= FEW else 2 if count <= 2 * FEW else 1
        for k in range(1, min(count, most) + 1):
            out += [(sum([r.size for r in few]), few) for few in combinations(same, k)]
        if count > most:
            out.append((sum([r.size for r in same]), tuple(same)))
    return out


def _counted(stacks: Iterable[tuple[int, Few]]) -> Mapping[int, int]:
    """How many there are of so many rectangles."""
    out = defaultdict[int, int](int)
    for _, few in stacks:
        out[len(few)] += 1
    return out
