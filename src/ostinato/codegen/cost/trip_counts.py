"""How often a leaf runs of which some points only are needed, such as the last step of a loop."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

from ostinato.codegen.ir.tree import Leaf, Span
from ostinato.codegen.masks.guards import guard_of
from ostinato.pdg.bounds import conjuncts
from ostinato.pdg.condition import Cond, cond_symbols, holds
from ostinato.pdg.index import Dim, Extent, evaluate

SAMPLES = 16  # steps between the first and the last of a loop that are looked at


@dataclass
class Needed:
    """The conditions of a plan, and the loops that a walk over it is in."""

    guards: Mapping[str, Cond]
    spans: dict[Dim, Span] = field(default_factory=dict[Dim, Span])

    def enter(self, span: Span) -> None:
        """Say that what is asked for next lies in this loop."""
        self.spans[span.dim] = span

    def part(self, leaf: Leaf, point: Mapping[Dim | Extent, int]) -> float:
        """The part of the steps around a leaf at which it runs, between 0 and 1.

        Conditions on several dims count as independent, at the middles of the other loops.
        """
        guard = guard_of(leaf, self.guards)
        return math.prod(self._true(cond, point) for cond in conjuncts(guard))

    def _true(self, cond: Cond, point: Mapping[Dim | Extent, int]) -> float:
        asked = cond_symbols(cond)
        if asked - point.keys():
            return 1.0  # it depends on data, or on what a leaf itself runs over
        dim = next((d for d in self.spans if d in asked), None)
        if dim is None:
            return float(holds(cond, point))
        lo, hi = (evaluate(end, point) for end in (self.spans[dim].lo, self.spans[dim].hi))
        inner = range(lo + 1, hi - 1)
        some = inner[:: max(1, len(inner) // SAMPLES)]
        ends = sum(holds(cond, {**point, dim: at}) for at in {lo, hi - 1} if lo < hi)
        between = sum(holds(cond, {**point, dim: at}) for at in some) / max(1, len(some))
        return (ends + between * len(inner)) / max(1, hi - lo)
