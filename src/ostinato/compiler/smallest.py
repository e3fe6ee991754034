"""The fastest form of a program whose memory stays within a limit.

Forms differ in what they keep for a later loop and what they compute again. A price per kept byte,
added to the predicted time, moves the choice from time to memory. The cheapest form may fit too
once its schedule computes values again. Of all forms found that fit, the one whose schedule takes
least time is taken.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial

from ostinato.machine.profile import Profile
from ostinato.pdg.errors import MemoryLimitError
from ostinato.rewrite.extract.export import EGraph, ENode
from ostinato.rewrite.extract.pricing import Pricing
from ostinato.rewrite.extract.sizes import Sizes
from ostinato.rewrite.optimize import Optimized, Rewriting

PRICES = tuple(10.0**k for k in range(-4, 3))  # nanoseconds per kept byte, beyond moving it
HALVINGS = 3  # between a price that is too low and one that is enough


@dataclass(frozen=True, slots=True)
class Taken:
    """What a form takes: bytes of its arena, nanoseconds by its schedule.

    ``is_changed``: the schedule computes values again, or keeps them in fewer bits, to take less.
    """

    bytes: int
    ns: float
    is_changed: bool


@dataclass(frozen=True)
class Room:
    """Bytes that a program may take at some extents, and what a form of it takes there."""

    limit: int
    extents: Mapping[str, int]
    taken: Callable[[Optimized], Taken]


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


def fitting(forms: Rewriting, room: Room) -> Optimized:
    """Return the fastest form found that fits.

    Errors: MemoryLimitError, with the least bytes of a form that was found.
    """
    cheapest = forms.best()
    taken = room.taken(cheapest)
    if taken.bytes <= room.limit and not taken.is_changed:
        return cheapest
    tried = [(taken, cheapest), *_scarce(forms, room)]
    fits = [(taken.ns, k) for k, (taken, _) in enumerate(tried) if taken.bytes <= room.limit]
    if fits:
        return tried[min(fits)[1]][1]
    least = min(taken.bytes for taken, _ in tried)
    at = ", ".join(f"{name}={n}" for name, n in sorted(room.extents.items()))
    fact = f"no form of the program fits in {room.limit:,} bytes at {at or 'any size'}"
    raise MemoryLimitError(fact, f"Pass memory_limit={least} or more, or smaller extents.")


def _scarce(forms: Rewriting, room: Room) -> Iterator[tuple[Taken, Optimized]]:
    """Forms at higher and higher prices until one fits, then at prices between."""
    below = 0.0
    for price in PRICES:
        found = forms.best(partial(Scarce, price))
        taken = room.taken(found)
        yield taken, found
        if taken.bytes <= room.limit:
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
