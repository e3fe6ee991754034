"""The fastest of a few forms of a small program, by their schedules.

Prices in the e-graph are of single operators. What becomes of them together, values that stay in
registers, loops that several share, results that are put into another order, shows in a schedule
only. So some forms beside the cheapest are scheduled too, and the least predicted time decides.
Only where the sizes are given: the fastest form at a few dozen may be the slowest at thousands.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import partial

from ostinato.machine.profile import Profile
from ostinato.pdg.errors import OstinatoError
from ostinato.pdg.node import Pdg
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
