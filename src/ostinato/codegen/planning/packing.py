"""Offsets of blocks of memory: tensors, or rectangles of tensors, placed again and again.

`ostinato.codegen.planning.skyline` places them. Where this leaves gaps, rectangles come of tensors
that take each other's places (`ostinato.codegen.planning.rectangles`), and what came out best is
tried again: with larger weights of what came out on top, and without the rectangles that rise above
the bound, of which the parts are placed instead. How often falls with the number of tensors.

Source: Joslin and Clements 1999, Squeaky wheel optimization, for the weights.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from ostinato.codegen.planning.rectangles import Rectangle, joined
from ostinato.codegen.planning.skyline import Line


class Block(NamedTuple):
    """A size, and the first and last phase of use."""

    name: str
    size: int
    first: int
    last: int


Offsets = dict[str, int]
MOST_TRIES, LEAST_TRIES = 32, 2
BLOCKS = 5_000  # that all tries place
TRIES = 4  # with the same rectangles, where some could be parted
CLEAR = 1.05  # times the height of rectangles: tensors alone that are so high stay higher
TOP = 0.97  # of the height of all: what lies above comes earlier in the next try


def packed(blocks: Sequence[Block], bound: int) -> tuple[Offsets, int]:
    """Return the offset of every block and the height of all, which is ``bound`` at the least."""
    tensors = tensors_of(blocks)
    count = len(tensors)
    alone = Tries(tensors, bound)
    alone.run(LEAST_TRIES * count)
    found = alone
    if alone.least > bound:
        fewer = Tries(joined(tensors), bound)
        fewer.run(max(BLOCKS, LEAST_TRIES * count))
        if fewer.least > bound and alone.least < CLEAR * fewer.least:
            alone.run((tries(count) - LEAST_TRIES) * count)
        found = min(alone, fewer, key=lambda each: each.least)
    return found.offsets | {b.name: 0 for b in blocks if not b.size}, found.least


def tries(count: int) -> int:
    """How often so many blocks are placed where the bound is not reached."""
    return max(LEAST_TRIES, min(MOST_TRIES, BLOCKS // max(1, count)))


def tensors_of(blocks: Sequence[Block]) -> list[Rectangle]:
    """The blocks that take room, in an order that does not depend on the given one."""
    blocks = [b for b in blocks if b.size]
    marks = sorted({m for b in blocks for m in (b.first, b.last + 1)})
    place = {mark: k for k, mark in enumerate(marks)}
    made = (Rectangle(b.size, place[b.first], place[b.last + 1], b.name) for b in blocks)
    return sorted(made, key=lambda r: r.name)


class Tries:
    """Places of rectangles, tried again and again: the lowest ones that were found."""

    def __init__(self, rectangles: Sequence[Rectangle], bound: int) -> None:
        """Nothing is placed yet."""
        self.rectangles, self.bound = list(rectangles), bound
        self.offsets, self.least = Offsets(), 0 if not rectangles else sys.maxsize
        self.urgency = {r.name: 1.0 for r in rectangles}
        self.chance = random.Random(0)
        self.restart()

    def restart(self) -> None:
        """Begin with other rectangles."""
        self.number, self.height = 0, sys.maxsize
        self.parted: list[Rectangle] = []  # where they were lowest, what rises above the bound

    def run(self, blocks: int) -> None:
        """Place about so many, unless they are as low as can be before."""
        while blocks > 0 and self.least > self.bound:
            self.once()
            blocks -= len(self.rectangles)
            if self.number % TRIES == 0 and self.least > self.bound:
                self.part()

    def once(self) -> None:
        """Place all."""
        line = Line(self.rectangles, self.weights())
        above = [r for r in self.rectangles if line.offsets[r.name] + r.size > TOP * line.total]
        for r in above:
            self.urgency[r.name] *= 1.0 + self.chance.random()
        if line.total < self.height:
            self.height = line.total
            ends = ((line.offsets[r.name] + r.size, r) for r in self.rectangles)
            self.parted = [r for end, r in ends if end > self.bound and r.inside]
        if line.total < self.least:
            self.least = line.total
            placed = (r.offsets(line.offsets[r.name]) for r in self.rectangles)
            self.offsets = {name: at for found in placed for name, at in found}
        self.number += 1

    def part(self) -> None:
        """Place the parts of what rises above the bound, or else of the largest rectangle."""
        made = [r for r in self.rectangles if r.inside]
        if not made:
            return
        gone = {*self.parted} or {max(made, key=lambda r: r.size * (r.end - r.first))}
        kept = [r for r in self.rectangles if r not in gone]
        parts = [part for r in made if r in gone for _, part in r.inside]
        self.rectangles = kept + parts
        self.urgency |= {r.name: 1.0 for r in parts}
        self.restart()

    def weights(self) -> Mapping[str, float]:
        """What each adds to a chain: in turns long ones first, and as few as can be."""
        if self.number % 2:
            weights = [-1.0 / self.urgency[r.name] for r in self.rectangles]
        else:
            areas = [(r.end - r.first) ** 2 * r.size**0.25 for r in self.rectangles]
            mean = sum(areas) / max(1, len(areas)) or 1.0
            urgent = (self.urgency[r.name] for r in self.rectangles)
            weights = [a / mean * u for a, u in zip(areas, urgent, strict=True)]
        few = self.number < LEAST_TRIES
        shares = [1.0 if few else 0.5 + self.chance.random() for _ in self.rectangles]
        return {r.name: w * s for r, w, s in zip(self.rectangles, weights, shares, strict=True)}
