"""How far the second judge moves if every operation is rounded otherwise, or loses a zero's sign.

Monte Carlo arithmetic: each result that a compiler may round otherwise moves by a few roundings,
each partial sum too, so that what cancels differently in another order is seen. Without
`exact=True` the sign of a zero may be lost, and with it that of an infinity. Where laws of real
numbers may be used, what overflows or underflows may be the real number, and what follows from an
infinity or a NaN may be an infinity or a NaN (`docs/rewriting.md`). A sum of terms near the limit
of their type may overflow: its order is free, and a law may take a factor below 1 out of it.
"""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from typing import Any

import numpy as np

from ostinato.pdg import node as ops
from ostinato.pdg.node import Node
from tests.property.constructs.table import FLOATS
from tests.property.definition import Definition, Env, Place, Point
from tests.property.exactness import is_rounded
from tests.property.operators import COMBINE, Number, unit
from tests.property.tolerance import NOISE

# Functions that laws move across sums and quotients, and those that come to 0 from other numbers.
DISTRIBUTED = frozenset(("add", "sub", "mul", "div"))
UNDERFLOWING = frozenset(("mul", "div", "exp", "exp2", "pow", "sigmoid", "erfc"))
INFINITE: tuple[Number, ...] = (math.nan, math.inf, -math.inf)
FACTOR = 1024.0  # that a law takes out of a sum, at most: without it terms may overflow


class Unsettled(Definition):
    """The second judge with other roundings, which ``salt`` draws.

    With ``signs`` all zeros are 0.0 for salt 0, -0.0 for salt 1, and else of any sign. With
    ``laws`` overflows are the largest numbers at times, and infinities NaN.
    """

    def __init__(self, *given: Any, salt: int, signs: bool, laws: bool = False) -> None:
        super().__init__(*given)
        self.chance = random.Random(salt)
        self.signs = ((1,), (-1,), (1, -1))[min(salt, 2)] if signs else ()
        self.laws = laws
        self.moved: dict[tuple[Node, Point, Place], Number] = {}

    def element(self, node: Node, point: Point, place: Place) -> Number:
        key = node, point, place
        if key not in self.moved:
            value = super().element(node, point, place)
            if is_rounded(node):
                value = self.nearby(value)
                if self.signs and value == 0:
                    value = abs(value) * self.chance.choice(self.signs)
            self.moved[key] = value
        return self.moved[key]

    def nearby(self, value: Number) -> Number:
        return value * value.dtype.type(1 + NOISE[value.dtype.name] * self.chance.uniform(-1, 1))

    def map(self, op: ops.Map, node: Node, env: Env, place: Place) -> Number:
        value = super().map(op, node, env, place)
        if not self.laws or not is_rounded(node):
            return value
        return self.lawful(value, self.operands(node, env, place), op.fn)

    def lawful(self, value: Number, operands: Sequence[Number], fn: str) -> Number:
        """What a law of real numbers may make of a value that is none, or that underflows."""
        ends = np.finfo(value.dtype)
        choices: list[Number] = [value]
        if all(map(np.isfinite, operands)):
            if fn == "div" and operands[1] == 0:
                choices += INFINITE
            elif np.isinf(value) and (fn in DISTRIBUTED or all(operands)):
                choices += [math.copysign(float(ends.max), value)]
            elif fn in ("add", "sub") and self.may_overflow(operands):
                choices += INFINITE
            elif value == 0 and fn in UNDERFLOWING and all(operands):
                choices += [math.copysign(float(ends.tiny), value)]
        elif fn in DISTRIBUTED and not np.isfinite(value):
            choices += INFINITE
        return ends.dtype.type(self.chance.choice(choices))

    def may_overflow(self, terms: Sequence[Number]) -> bool:
        """Whether a sum of the terms may overflow in another order, or without a factor."""
        most = sum(abs(float(x)) for x in terms if np.isfinite(x))
        return most * (FACTOR if self.laws else 1.0) > float(np.finfo(terms[0].dtype).max)

    def fold(self, node: Node, fn: str, row: list[Number]) -> Number:
        if fn not in ("sum", "prod") or node.dtype not in FLOATS:
            return super().fold(node, fn, row)
        total = unit(fn, node.dtype)
        for x in row:
            total = COMBINE[fn](total, self.nearby(x))
        if row and fn == "sum" and self.may_overflow(row):
            return total.dtype.type(self.chance.choice([total, *INFINITE]))
        if self.laws and row:
            return self.lawful(total, row, "add" if fn == "sum" else "mul")
        return total

    def row(self, x: Node, axis: int, env: Env, rest: Place) -> list[Number]:
        found = super().row(x, axis, env, rest)
        return [self.nearby(v) for v in found] if x.dtype in FLOATS else found
