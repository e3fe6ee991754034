"""How far the second judge moves if every operation is rounded otherwise, or loses a zero's sign.

Monte Carlo arithmetic: each result that a compiler may round otherwise moves by a few roundings,
each partial sum too, so that what cancels differently in another order is seen. Without
`exact=True` the sign of a zero may be lost, and with it that of an infinity.
"""

from __future__ import annotations

import random
from typing import Any

from ostinato.pdg.node import Along, Linear, Map, Matmul, Node, Reduce, Scan
from tests.property.constructs.table import FLOATS
from tests.property.definition import Definition, Env, Place, Point
from tests.property.operators import COMBINE, Number, unit
from tests.property.tolerance import NOISE

# Functions whose result is exact.
EXACT = frozenset(
    ("floor", "ceil", "round", "sign", "abs", "neg", "where", "minimum", "maximum", "cast")
    + ("stop_gradient", "isfinite")
)


class Unsettled(Definition):
    """The second judge with other roundings, which ``salt`` draws.

    With ``signs`` all zeros are 0.0 for salt 0, -0.0 for salt 1, and else of any sign.
    """

    def __init__(self, *given: Any, salt: int, signs: bool) -> None:
        super().__init__(*given)
        self.chance = random.Random(salt)
        self.signs = ((1,), (-1,), (1, -1))[min(salt, 2)] if signs else ()
        self.moved: dict[tuple[Node, Point, Place], Number] = {}

    def element(self, node: Node, point: Point, place: Place) -> Number:
        key = node, point, place
        if key not in self.moved:
            value = super().element(node, point, place)
            if node.dtype in FLOATS and _rounds(node):
                value = self.nearby(value)
                if self.signs and value == 0:
                    value = abs(value) * self.chance.choice(self.signs)
            self.moved[key] = value
        return self.moved[key]

    def nearby(self, value: Number) -> Number:
        return value * value.dtype.type(1 + NOISE[value.dtype.name] * self.chance.uniform(-1, 1))

    def fold(self, node: Node, fn: str, row: list[Number]) -> Number:
        if fn not in ("sum", "prod") or node.dtype not in FLOATS:
            return super().fold(node, fn, row)
        total = unit(fn, node.dtype)
        for x in row:
            total = COMBINE[fn](total, self.nearby(x))
        return total

    def row(self, x: Node, axis: int, env: Env, rest: Place) -> list[Number]:
        found = super().row(x, axis, env, rest)
        return [self.nearby(v) for v in found] if x.dtype in FLOATS else found


def _rounds(node: Node) -> bool:
    if isinstance(node.op, Map):
        return node.op.fn not in EXACT
    return isinstance(node.op, Reduce | Matmul | Along | Scan | Linear)
