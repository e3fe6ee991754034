"""Typical sizes of tensors and spans, and bounds of spans."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from ostinato.codegen.ir.system import Statement
from ostinato.codegen.ir.tree import Contraction, Span
from ostinato.pdg.index import Dim, Expr, Extent, Extremum, evaluate, minimum, symbols

Spans = Mapping[Dim, Span]
HINT = 32  # steps assumed for an extent without a hint


@dataclass(frozen=True)
class Sizes:
    """Typical sizes of tensors and spans, and the products among the units."""

    statements: Mapping[str, Statement]
    hints: Mapping[str, int]
    spans: Spans = field(default_factory=dict[Dim, Span])
    products: Mapping[str, Contraction] = field(default_factory=dict[str, Contraction])

    def steps(self, size: Expr) -> int:
        """A size for typical extents; of one that varies the greatest."""
        size = stored_points(size)
        point: dict[Dim | Extent, int] = {
            e: self.hints.get(e.name, HINT) for e in symbols(size) if isinstance(e, Extent)
        }
        return max(1, evaluate(size, point))

    def history(self, tensor: str, done: frozenset[Dim]) -> float:
        """The elements of a tensor over all dims that have no loop yet."""
        out = self.elements(tensor)
        for dim in self.statements[tensor].result_dims:
            if dim not in done:
                out *= self.steps(stored_points(self.spans[dim].hi))
        return out

    def elements(self, tensor: str) -> float:
        """The elements of one point of a tensor; one of 16 bits counts half."""
        out = 1.0
        for axis in self.statements[tensor].result_axes:
            out *= self.steps(axis.pad)
        return out / 2 if self.statements[tensor].dtype == "uint16" else out


def stored_points(hi: Expr) -> Expr:
    """The least bound on a span over extents alone: ``w`` for ``min(w, B - w*b_o)`` rows."""
    match hi.terms:
        case ((Extremum("min", of), 1),) if hi.const == 0:
            free = [x for x in of if not x.dims]
            return minimum(*free) if free else hi
        case _:
            return hi
