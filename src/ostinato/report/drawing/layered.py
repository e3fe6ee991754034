"""A layered drawing: boxes in rows, every arrow downwards but for those that close a circle.

Rows come from longest paths; an arrow over several rows passes through places of its own, so that
it crosses no box. The order in a row follows the middle of what each place is joined to, and so do
positions, as far as the room allows. The same picture always gives the same drawing.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

SWEEPS = 12
GAP, ROW_GAP, LANE = 18.0, 46.0, 10.0  # between boxes, between rows, the width of a passing arrow
Pair = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Rect:
    """A box by its left upper corner."""

    x: float
    y: float
    width: float
    height: float

    @property
    def middle(self) -> float:
        return self.x + self.width / 2


@dataclass(frozen=True)
class Drawing:
    """Where the boxes lie, the points of every arrow from source to target, and the size."""

    rects: Mapping[str, Rect]
    paths: Mapping[Pair, tuple[tuple[float, float], ...]]
    width: float
    height: float


@dataclass(eq=False)
class _Layers:
    sizes: Mapping[str, tuple[float, float]]
    pairs: Sequence[Pair]
    rows: list[list[str]] = field(default_factory=list[list[str]])
    row: dict[str, int] = field(default_factory=dict[str, int])
    chains: dict[Pair, list[str]] = field(default_factory=dict[Pair, list[str]])
    above: dict[str, list[str]] = field(default_factory=dict[str, list[str]])
    below: dict[str, list[str]] = field(default_factory=dict[str, list[str]])
    at: dict[str, float] = field(default_factory=dict[str, float])  # share of the row before it
    middle: dict[str, float] = field(default_factory=dict[str, float])

    def width(self, place: str) -> float:
        return self.sizes[place][0] if place in self.sizes else LANE

    def arrange(self) -> None:
        """Give every box and every passing arrow its row and its place there."""
        down = forward(list(self.sizes), self.pairs)
        self.row = longest_paths(list(self.sizes), down.values())
        self.rows = [[] for _ in range(1 + max(self.row.values(), default=0))]
        for name, k in self.row.items():
            self.rows[k].append(name)
        for pair, (top, bottom) in down.items():
            self._chain(pair, top, bottom)
        for row in self.rows:
            self._count(row)
        for sweep in range(SWEEPS):
            joined = self.above if sweep % 2 == 0 else self.below
            for row in self.rows if sweep % 2 == 0 else reversed(self.rows):
                self._order(row, joined)
        self._positions()

    def _chain(self, pair: Pair, top: str, bottom: str) -> None:
        """The places of an arrow in the rows that it passes."""
        chain = [top]
        for k in range(self.row[top] + 1, self.row[bottom]):
            place = f"{pair[0]}\0{pair[1]}\0{k}"
            self.rows[k].append(place)
            chain.append(place)
        chain.append(bottom)
        self.chains[pair] = chain
        for high, low in zip(chain, chain[1:], strict=False):
            self.below.setdefault(high, []).append(low)
            self.above.setdefault(low, []).append(high)

    def _count(self, row: Sequence[str]) -> None:
        self.at.update((name, k / len(row)) for k, name in enumerate(row))

    def _order(self, row: list[str], joined: Mapping[str, list[str]]) -> None:
        at = self.at

        def middle(name: str) -> float:
            near = joined.get(name, [])
            return sum(at[n] for n in near) / len(near) if near else at[name]

        row.sort(key=middle)
        self._count(row)

    def _positions(self) -> None:
        """Start packed, then move rows towards what they are joined to, keeping the order."""
        for row in self.rows:
            x = 0.0
            for name in row:
                self.middle[name] = x + self.width(name) / 2
                x += self.width(name) + GAP
            for name in row:
                self.middle[name] -= x / 2
        for sweep in range(SWEEPS):
            joined = self.above if sweep % 2 == 0 else self.below
            for row in self.rows if sweep % 2 == 0 else reversed(self.rows):
                self._settle(row, joined)

    def _settle(self, row: Sequence[str], joined: Mapping[str, list[str]]) -> None:
        wanted = {
            name: sum(self.middle[n] for n in near) / len(near) if (near := joined.get(name)) else
            self.middle[name]
            for name in row
        }  # fmt: skip
        right = self._packed(row, wanted, 1.0)
        left = self._packed(list(reversed(row)), wanted, -1.0)
        for name in row:  # both keep the order and the gaps, and so does their mean
            self.middle[name] = (right[name] + left[name]) / 2

    def _packed(
        self, row: Sequence[str], wanted: Mapping[str, float], sign: float
    ) -> dict[str, float]:
        """Each place where it wants to be, or beyond the one before it."""
        out: dict[str, float] = {}
        edge = -float("inf")
        for name in row:
            half = self.width(name) / 2
            at = max(sign * wanted[name], edge + half)
            out[name] = sign * at
            edge = at + half + GAP
        return out


def forward(names: Sequence[str], pairs: Sequence[Pair]) -> dict[Pair, Pair]:
    """Every arrow between two boxes as one that goes down: those that close a circle are turned."""
    onward: dict[str, list[str]] = {name: [] for name in names}
    for a, b in pairs:
        if a != b:
            onward[a].append(b)
    done: set[str] = set()
    finished: dict[str, int] = {}
    for root in names:
        stack = [(root, iter(onward[root]))] if root not in done else []
        done.add(root)
        while stack:
            name, rest = stack[-1]
            fresh = next((n for n in rest if n not in done), None)
            if fresh is None:
                finished[name] = len(finished)
                stack.pop()
            else:
                done.add(fresh)
                stack.append((fresh, iter(onward[fresh])))
    return {
        (a, b): (a, b) if finished[a] > finished[b] else (b, a) for a, b in pairs if a != b
    }  # a reader finishes first, unless it is on the way to what it reads


def longest_paths(names: Sequence[str], pairs: Iterable[Pair]) -> dict[str, int]:
    """The row of every box: below all that points to it, and not higher than it must be."""
    above: dict[str, list[str]] = {name: [] for name in names}
    below: dict[str, list[str]] = {name: [] for name in names}
    for a, b in pairs:
        above[b].append(a)
        below[a].append(b)
    row = dict.fromkeys(names, 0)
    waiting = {name: len(above[name]) for name in names}
    ready = [name for name in names if not waiting[name]]
    order: list[str] = []
    while ready:
        name = ready.pop(0)
        order.append(name)
        for low in below[name]:
            row[low] = max(row[low], row[name] + 1)
            waiting[low] -= 1
            if not waiting[low]:
                ready.append(low)
    for name in reversed(order):  # what only feeds one low box moves down to it
        if below[name] and not above[name]:
            row[name] = min(row[low] for low in below[name]) - 1
    return row


def draw(sizes: Mapping[str, tuple[float, float]], pairs: Sequence[Pair]) -> Drawing:
    """Return a drawing of boxes of given sizes; arrows from a box to itself have no path."""
    layers = _Layers(sizes, pairs)
    layers.arrange()
    left = min((layers.middle[n] - layers.width(n) / 2 for r in layers.rows for n in r), default=0)
    right = max((layers.middle[n] + layers.width(n) / 2 for r in layers.rows for n in r), default=0)
    tops: list[float] = []
    y = GAP
    for row in layers.rows:
        tops.append(y)
        y += max((sizes[n][1] for n in row if n in sizes), default=0.0) + ROW_GAP
    tops.append(y)
    rects = {
        name: Rect(layers.middle[name] - left - w / 2 + GAP, tops[layers.row[name]], w, h)
        for name, (w, h) in sizes.items()
    }
    paths: dict[Pair, tuple[tuple[float, float], ...]] = {}
    for pair, chain in layers.chains.items():
        points = _points(chain, rects, layers, (tops, left))
        paths[pair] = tuple(points if chain[0] == pair[0] else reversed(points))
    return Drawing(rects, paths, right - left + 2 * GAP, y - ROW_GAP + GAP)


def _points(
    chain: Sequence[str],
    rects: Mapping[str, Rect],
    layers: _Layers,
    frame: tuple[Sequence[float], float],
) -> list[tuple[float, float]]:
    """From the lower edge of the upper box, through its places, to the upper edge of the lower."""
    tops, left = frame
    first, last = rects[chain[0]], rects[chain[-1]]
    start = layers.row[chain[0]]
    out = [(first.middle, first.y + first.height)]
    if first.y + first.height < tops[start + 1] - ROW_GAP:
        out.append((first.middle, tops[start + 1] - ROW_GAP))
    for k, place in enumerate(chain[1:-1], start + 1):
        x = layers.middle[place] - left + GAP
        out += [(x, tops[k]), (x, tops[k + 1] - ROW_GAP)]
    return [*out, (last.middle, last.y)]
