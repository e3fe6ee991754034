"""Places for blocks of memory from the bottom up, where a few orders leave gaps.

Phases run along a line of heights. The lowest stretch of it gets the block that fits into it best:
one that touches both ends, then one whose top meets a neighbour's. Where none fits, the stretch
rises to the lower neighbour. Source: Burke, Kendall and Whitwell 2004, A new placement heuristic.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol


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


@dataclass(slots=True)
class _Stretch:
    """Phases from ``start`` to before ``end``, in which everything below ``height`` is taken."""

    start: int
    end: int
    height: int


Score = Callable[[Block, int, int], tuple[int, ...]]  # walls that it touches, tops that it meets
SCORES: tuple[Score, ...] = (
    lambda b, walls, tops: (walls, tops, b.last - b.first, b.size),
    lambda b, walls, tops: (walls + tops, (b.last - b.first + 1) * b.size),
)


def stacked(blocks: Sequence[Block], score: Score) -> tuple[dict[str, int], int]:
    """Return the offset of every block, and the height of all."""
    line = [_Stretch(0, 1 + max(b.last for b in blocks), 0)]
    left = {b.name: b for b in sorted(blocks, key=lambda b: (-b.size, b.name))}
    offsets: dict[str, int] = {}
    total = 0
    while left:
        k = min(range(len(line)), key=lambda i: (line[i].height, line[i].start))
        low = line[k]
        sides = [line[i].height if 0 <= i < len(line) else -1 for i in (k - 1, k + 1)]
        fits = [b for b in left.values() if low.start <= b.first and b.last < low.end]
        if not fits:
            low.height = min(height for height in sides if height >= 0)
        else:
            chosen = max(fits, key=lambda b: _rank(b, low, sides, score))
            del left[chosen.name]
            offsets[chosen.name] = low.height
            total = max(total, low.height + chosen.size)
            line[k : k + 1] = _over(low, chosen)
        line = _joined(line)
    return offsets, total


def _rank(b: Block, low: _Stretch, sides: Sequence[int], score: Score) -> tuple[int, ...]:
    touches = b.first == low.start, b.last + 1 == low.end
    top = low.height + b.size
    meets = sum(at and top == side for at, side in zip(touches, sides, strict=True))
    return score(b, sum(touches), meets)


def _over(low: _Stretch, block: Block) -> list[_Stretch]:
    """The stretch with a block on it."""
    parts = (
        _Stretch(low.start, block.first, low.height),
        _Stretch(block.first, block.last + 1, low.height + block.size),
        _Stretch(block.last + 1, low.end, low.height),
    )
    return [part for part in parts if part.start < part.end]


def _joined(line: Sequence[_Stretch]) -> list[_Stretch]:
    """The line with neighbours of one height as one stretch."""
    out: list[_Stretch] = []
    for part in line:
        if out and out[-1].height == part.height:
            out[-1].end = part.end
        else:
            out.append(part)
    return out
