"""The fastest form of a program whose memory stays within a limit.

Forms differ in what they keep for a later loop and what they compute again. A price per kept byte,
added to the predicted time, moves the choice from time to memory; the least price at which the
planned arena fits gives the fastest form among those found.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from math import sqrt

from ostinato.machine.profile import Profile
from ostinato.pdg.errors import MemoryLimitError
from ostinato.rewrite.cost import Pricing
from ostinato.rewrite.export import EGraph, ENode
from ostinato.rewrite.optimize import Optimized, Rewriting
from ostinato.rewrite.sizes import Sizes

PRICES = tuple(10.0**k for k in range(-4, 3))  # nanoseconds per kept byte, beyond moving it
HALVINGS = 3  # between a price that is too low and one that is enough


@dataclass(frozen=True)
class Room:
    """Bytes that a program may take at some extents, and what a form of it takes there."""

    limit: int
    extents: Mapping[str, int]
    bytes_of: Callable[[Optimized], int]


class Scarce(Pricing):
    """Prices where memory is short: a byte that is kept costs more than the time of moving it."""

    def __init__(self, byte_ns: float, graph: EGraph, sizes: Sizes, profile: Profile) -> None:
        super().__init__(graph, sizes, profile)
        self._byte_ns = byte_ns

    def price(self, cls: int, node: ENode) -> float:
        points, each = self.kept(cls, node)
        return super().price(cls, node) + self._byte_ns * points * each


def fitting(forms: Rewriting, room: Room) -> Optimized:
    """Return the fastest form found that fits.

    Errors: MemoryLimitError, with the least bytes of a form that was found.
    """
    found = forms.best()
    least = room.bytes_of(found)
    if least <= room.limit:
        return found
    below = 0.0
    for price in PRICES:
        found = forms.best(partial(Scarce, price))
        needed = room.bytes_of(found)
        least = min(least, needed)
        if needed <= room.limit:
            return _cheapest(forms, room, (below, price), found)
        below = price
    at = ", ".join(f"{name}={n}" for name, n in sorted(room.extents.items()))
    fact = f"no form of the program fits in {room.limit:,} bytes at {at or 'any size'}"
    raise MemoryLimitError(fact, f"Pass memory_limit={least} or more, or smaller extents.")


def _cheapest(
    forms: Rewriting, room: Room, between: tuple[float, float], found: Optimized
) -> Optimized:
    """The form at a lower price, as long as it fits."""
    low, high = between
    for _ in range(HALVINGS):
        middle = sqrt(low * high) if low else high / 3
        tried = forms.best(partial(Scarce, middle))
        if room.bytes_of(tried) <= room.limit:
            found, high = tried, middle
        else:
            low = middle
    return found
