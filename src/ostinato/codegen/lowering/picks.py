"""Computed positions: indices that stand for values, one per component of the axis they address."""

from __future__ import annotations

from collections.abc import Sequence
from typing import assert_never

from ostinato.codegen.ir.system import (
    Axis,
    Call,
    Choice,
    Draw,
    Literal_,
    Load,
    Pick,
    Position,
    Value,
    children,
)
from ostinato.codegen.lowering.axis_indices import Digit, Digits
from ostinato.codegen.lowering.stored import Places, Point
from ostinato.pdg.condition import cond_symbols
from ostinato.pdg.index import Dim, Expr, Extent, dims_of, expr, product, substitute, upper_bound
from ostinato.pdg.node import Node, Pdg


class Picks(Places):
    """The computed indices of a program; equal values along equal axes share one."""

    def __init__(self, pdg: Pdg, batched: dict[str, tuple[Dim, ...]]) -> None:
        super().__init__(pdg, batched)
        self.picks: dict[tuple[Value, Expr], Pick] = {}
        self.picked_indices: set[Dim | Extent] = set()

    def position(self, chosen: Value, x: Node, axis: int, point: Point) -> Digits:
        """A computed position of an axis of a node, clamped to it."""
        sizes = [substitute(c.size, point) for c in self.structures[x][axis]]
        if len(sizes) < 2:
            return tuple(Digit(self.pick(chosen, size), size) for size in sizes)
        wide = chosen if chosen.dtype == "int64" else Call("cast", (chosen,), "int64")
        last, first = Position(product(sizes) - 1, "int64"), Literal_(0, "int64")
        rest: Value = Call("maximum", (Call("minimum", (wide, last), "int64"), first), "int64")
        out: list[Digit] = []
        for size in reversed(sizes[1:]):
            steps = (rest, Position(size, "int64"))
            out.append(Digit(self.pick(Call("mod", steps, "int64"), size), size))
            rest = Call("floordiv", steps, "int64")
        out.append(Digit(self.pick(rest, sizes[0]), sizes[0]))
        return tuple(reversed(out))

    def pick(self, chosen: Value, size: Expr) -> Expr:
        """The index that stands for a value along an axis."""
        known = self.picks.get((chosen, size))
        if known is None:
            axis = Axis(Dim(f"pick{len(self.picks)}"), size, upper_bound(size))
            known = self.picks[chosen, size] = Pick(axis, chosen)
            self.picked_indices.add(axis.index)
        return expr(known.axis.index)

    def mentioned(self, exprs: Sequence[Expr]) -> tuple[Pick, ...]:
        """The computed indices in expressions, each after those that its size mentions."""
        found = {d for e in exprs for d in dims_of(e)} & self.picked_indices
        out: list[Pick] = []
        for pick in reversed(self.picks.values()) if found else ():
            if pick.axis.index in found:
                found |= dims_of(pick.axis.size) & self.picked_indices
                out.append(pick)
        return tuple(reversed(out))

    def is_loose(self, value: Value) -> bool:
        """Whether a computed index stands outside a load: no expression can say its value."""
        match value:
            case Literal_() | Load() | Call():
                own: frozenset[Dim | Extent] = frozenset()
            case Position(of):
                own = frozenset(dims_of(of))
            case Draw():
                own = frozenset(d for e in (*value.point, value.element) for d in dims_of(e))
            case Choice(cond):
                own = cond_symbols(cond)
            case unknown:
                assert_never(unknown)
        return not own.isdisjoint(self.picked_indices) or any(map(self.is_loose, children(value)))
