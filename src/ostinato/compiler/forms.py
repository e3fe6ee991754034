"""The fastest of a few forms of a program: of a small one, or of those that fit into memory.

Prices in the e-graph are of single operators. What becomes of them together, values that stay in
registers, loops that several share, results that are put into another order, shows in a schedule
only. So some forms beside the cheapest are scheduled too, and the least predicted time decides.
Only where the sizes are given: the fastest form at a few dozen may be the slowest at thousands.

Under a limit of memory, forms differ in what they keep for a later loop and what they compute
again. A price per kept byte, added to the predicted time, moves the choice from time to memory. The
usual form may fit too once its schedule computes values again. Of all forms found that fit, the one
whose schedule takes least time is taken. Another form has other tiles, and adds up in another
order: an exact program with such sums has its usual form within any limit.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial

from ostinato.machine.profile import Profile
from ostinato.pdg.axis_functions import AXIS_FUNCTIONS
from ostinato.pdg.errors import MemoryLimitError, OstinatoError
from ostinato.pdg.functions import FLOATS, FOLDS
from ostinato.pdg.node import Along, Matmul, Node, Pdg, Reduce
from ostinato.rewrite.extract.export import EGraph, ENode
from ostinato.rewrite.extract.pricing import Pricing
from ostinato.rewrite.extract.sizes import Sizes
from ostinato.rewrite.optimize import Optimized, Rewriting

CHEAPEST = "cheapest operators"
TILES = "tiles of long ranges"
NEAR = 1 << 17  # bytes: a shorter row stays in near caches, and is as fast or faster (measured)
DEAR = 1e3  # how much dearer an operator is that should be spared
MOST_NODES = 256  # of all forms that are scheduled: it takes a millisecond per node
GAIN = 0.97  # another form has to be faster than the cheapest by more than predictions are worth


class Sparing(Pricing):
    """Some operators are dear."""

    def __init__(self, ops: frozenset[str], graph: EGraph, sizes: Sizes, profile: Profile) -> None:
        super().__init__(graph, sizes, profile)
        self._ops = ops

    def price(self, cls: int, node: ENode) -> float:
        dear = self.is_dear(cls, node)
        return super().price(cls, node) * (DEAR if dear else 1.0) + dear

    def is_dear(self, cls: int, node: ENode) -> bool:
        """Whether an operator should be spared."""
        return node.op in self._ops


class SparingRows(Sparing):
    """Rows stay at their points: they are vectors. Numbers may come from other points."""

    def is_dear(self, cls: int, node: ENode) -> bool:
        return super().is_dear(cls, node) and self._sizes.numel(cls) > 1


class SparingLongRanges(Sparing):
    """Rows of long ranges are computed in tiles."""

    def is_dear(self, cls: int, node: ENode) -> bool:
        return self.row(cls, node)[1] > 0


SPARING: Mapping[str, Callable[[EGraph, Sizes, Profile], Sparing]] = {
    TILES: partial(SparingLongRanges, frozenset[str]()),
    "few reads of other points": partial(Sparing, frozenset(("at", "part"))),
    "few folds": partial(Sparing, frozenset(("red",))),
    "few axes": partial(Sparing, frozenset(("sl",))),
    "few reads of other rows": partial(SparingRows, frozenset(("at", "part"))),
}


def fastest(forms: Rewriting, predicted_ns: Callable[[Optimized], float]) -> Optimized:
    """Return the form whose schedule takes least, with the predicted time of every one.

    A program of which two forms have more than `MOST_NODES` nodes has one form, without a time.
    """
    cheapest = forms.best()
    others = list(_others(forms, cheapest.pdg))
    if not others:
        return cheapest
    chosen, times, notes = cheapest, {CHEAPEST: predicted_ns(cheapest)}, list[str]()
    least = times[CHEAPEST] * GAIN
    for name, form in others:
        try:
            times[name] = predicted_ns(form)
        except OstinatoError as refused:  # the cheapest form has a schedule
            notes.append(f"the form with {name} was not compared: {refused.fact}")
            continue
        if times[name] < least:
            chosen, least = form, times[name]
    return replace(chosen, times=times, passed_over=tuple(notes))


def _others(forms: Rewriting, cheapest: Pdg) -> Iterator[tuple[str, Optimized]]:
    """Other forms, by prices under which some operators are spared."""
    seen, nodes = [cheapest], len(cheapest.nodes())
    is_long = forms.longest_row() >= NEAR
    for name, pricing in SPARING.items():
        if name == TILES and not is_long:
            continue
        nodes += len(cheapest.nodes())
        if nodes > MOST_NODES:
            return
        found = forms.best(pricing)
        if forms.is_tiled(found) and not is_long:
            continue
        if not found.report.left and found.pdg not in seen:
            seen.append(found.pdg)
            yield name, found


PRICES = (0.0, *(10.0**k for k in range(-4, 3)))  # nanoseconds per kept byte, beyond moving it
HALVINGS = 3  # between a price that is too low and one that is enough


@dataclass(frozen=True, slots=True)
class Taken:
    """What a form takes: bytes of its arena, nanoseconds by its schedule.

    ``largest`` says which tensor takes most of the bytes, and how many; ``ways`` what was done to
    keep less.
    """

    bytes: int
    ns: float
    largest: str = ""
    ways: tuple[str, ...] = ()


@dataclass(frozen=True)
class Room:
    """Bytes that a program may take at some extents, and what a form of it takes there.

    Where it ``keeps_form``, no other form than the usual one is tried.
    """

    limit: int
    extents: Mapping[str, int]
    taken: Callable[[Optimized], Taken]
    keeps_form: bool = False


def has_free_order(node: Node) -> bool:
    """Whether a value is made of floats that a form may add up, or multiply, in any order."""
    if node.dtype not in FLOATS:
        return False
    match node.op:
        case Reduce(fn):
            return FOLDS[fn].rounds
        case Along(fn):
            return AXIS_FUNCTIONS[fn].work == "exponential"
        case op:
            return isinstance(op, Matmul)


class Scarce(Pricing):
    """Prices where memory is short: a byte that is kept costs more than the time of moving it.

    So does a byte of a row that could be computed in tiles.
    """

    def __init__(self, byte_ns: float, graph: EGraph, sizes: Sizes, profile: Profile) -> None:
        super().__init__(graph, sizes, profile)
        self._byte_ns = byte_ns

    def price(self, cls: int, node: ENode) -> float:
        bytes = math.prod(self.kept(cls, node)) + math.prod(self.row(cls, node))
        return super().price(cls, node) + self._byte_ns * bytes


def fitting(forms: Rewriting, usual: Optimized, room: Room) -> Optimized:
    """Return the form without a limit if it fits, else the fastest that was found to.

    Errors: MemoryLimitError, with the least bytes of a form that was found.
    """
    taken = room.taken(usual)
    if taken.bytes <= room.limit:
        return usual  # what is computed again is the same; another form would round otherwise
    tried = [(taken, usual), *_others_within(forms, room)]
    fits = [(taken.ns, k) for k, (taken, _) in enumerate(tried) if taken.bytes <= room.limit]
    if fits:
        return tried[min(fits)[1]][1]
    least = min((taken for taken, _ in tried), key=lambda taken: taken.bytes)
    at = ", ".join(f"{name}={n}" for name, n in sorted(room.extents.items()))
    fact = f"no form of the program fits in {room.limit:,} bytes at {at or 'any size'}"
    fact += f": {least.largest}" if least.largest else ""
    raise MemoryLimitError(fact, f"Pass memory_limit={least.bytes} or more, or smaller extents.")


def smallest(forms: Rewriting, usual: Optimized, room: Room) -> Taken:
    """What the form takes that takes the fewest bytes of those that a limit would try."""
    tried = [room.taken(usual), *(taken for taken, _ in _others_within(forms, room))]
    return min(tried, key=lambda taken: taken.bytes)


def _others_within(forms: Rewriting, room: Room) -> Iterator[tuple[Taken, Optimized]]:
    """Forms at higher and higher prices until one fits, then at prices between."""
    below = 0.0  # the price of the form that is cheapest without a limit
    for price in () if room.keeps_form else PRICES:
        found = forms.best(partial(Scarce, price))
        taken = room.taken(found)
        yield taken, found
        if taken.bytes <= room.limit:
            if price:
                yield from _between(forms, room, below, price)
            return
        below = price


def _between(
    forms: Rewriting, room: Room, low: float, high: float
) -> Iterator[tuple[Taken, Optimized]]:
    """Forms at lower prices, closer and closer to the least one that is enough."""
    for _ in range(HALVINGS):
        middle = math.sqrt(low * high) if low else high / 3
        found = forms.best(partial(Scarce, middle))
        taken = room.taken(found)
        yield taken, found
        if taken.bytes <= room.limit:
            high = middle
        else:
            low = middle
