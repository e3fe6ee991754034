"""What the nodes of a program say of numbers: which they are, how large, and above what.

It is said of a program as it is written, and shares no code with the analyses.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

from ostinato.pdg.constant import as_real
from ostinato.pdg.functions import FLOATS
from ostinato.pdg.index import Slice
from ostinato.pdg.node import Broadcast, Const, Map, Node, Part, Read, Reduce, Reshape, Transpose

MOST_WHOLE = 2**24  # integers up to this are float32 numbers
MOST_BOUNDED, MODERATE = 1e30, 7.99


@dataclass(frozen=True)
class Numbers:
    """What nodes say; how large constants are only where a step enters some range."""

    entered: bool

    def of(self, node: Node) -> Iterator[tuple[str, object]]:
        """Every fact about numbers, by the name of its relation."""
        bound = self.bound(node)
        yield from (("value", self.number(node)), ("bound", bound))
        yield "bounded", self.bounded(node)
        yield "positive", self.positive(node)
        yield "gentle", self.gentle(node)
        yield "moderate", bound is not None and bound <= MODERATE

    def number(self, node: Node) -> float | None:
        """The number that all elements are, if the program says so."""
        found = list(map(self.number, node.args)) if isinstance(node.op, Map) else []
        match node.op, found:
            case Const(values), _:
                return as_real(values)
            case ((Reshape() | Transpose() | Broadcast() | Part() | Read()), _):
                return self.number(node.args[0])
            case (Map("exp"), [0]) | (Map("pow"), [_, 0]):
                return 1.0
            case Map("cast"), [float(x)] if node.dtype in FLOATS and abs(x) <= MOST_WHOLE:
                return x
            case Map("neg"), [float(x)]:
                return -x
            case Map("mul"), [0, _] if self.bounded(node.args[1]):
                return 0.0
            case Map("div"), [0, float(y)] if y:
                return 0.0
            case Map("add"), [1, 1]:
                return 2.0
            case _:
                return None

    def bounded(self, node: Node) -> bool:
        """Whether the program says that no element is infinite or NaN."""
        match node.op:
            case Const(values) if all(map(math.isfinite, values)):
                return True
            case Map("cast") if node.args[0].dtype == "bool" and node.dtype in FLOATS:
                return True
            case Reshape() | Transpose() | Broadcast() | Part() | Read() | Map("neg") if (
                self.bounded(node.args[0])
            ):
                return True
            case _:
                number = self.number(node) if self.entered else None
                return number is not None and abs(number) <= MOST_BOUNDED

    def bound(self, node: Node) -> float | None:
        """The greatest that an element can be, of whichever sign, if the program says so."""
        number = self.number(node)
        if not self.entered or number is not None:
            return None if number is None or not self.entered else abs(number)
        match node.op:
            case Part(at=Slice()):
                return None
            case Reshape() | Part() | Map("neg"):
                return self.bound(node.args[0])
            case Map("add" | "sub" | "mul" | "div" as fn):
                return self._joint(fn, *node.args)
            case _:
                return None

    def _joint(self, fn: str, x: Node, y: Node) -> float | None:
        m, n = self.bound(x), self.bound(y)
        if m is None or n is None:
            return None
        if fn != "div":
            return m * n if fn == "mul" else m + n
        return m / n if self.number(y) else None

    def positive(self, node: Node) -> bool:
        """Whether the program says that every element is above 0."""
        match node.op:
            case Const(values):
                return self.entered and all(0 < value < math.inf for value in values)
            case Reshape() | Reduce("sum"):
                return self.positive(node.args[0])
            case op:
                return op == Map("exp")

    def gentle(self, node: Node) -> bool:
        """Whether the program says that every element is between 1/100 and 100."""
        match node.op:
            case Const(values):
                return self.entered and all(0.01 <= value <= 100 for value in values)
            case op:
                return isinstance(op, Reshape) and self.gentle(node.args[0])
