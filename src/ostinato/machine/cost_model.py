"""The one cost model: what elementary work takes, in nanoseconds of one core, by a profile.

Extraction, passes over equations, planning and estimates all ask it. They know how much of what
work there is, in terms of operators, equations or loops; what one piece of it takes stands here.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

from ostinato.machine.profile import Profile
from ostinato.pdg.axis_functions import AXIS_FUNCTIONS
from ostinato.pdg.functions import FOLDS, FUNCTIONS

Form = Literal["broadcast", "dots", "plain"]  # how the operands of a product lie
WIDE = frozenset(("float64", "int64"))
FREE = frozenset(f.name for f in FUNCTIONS.values() if f.price == "free")
SMALL, MEDIUM = 2**15, 2**20  # multiply-adds of a product up to which it is small, or medium
_SAME = {"sub": "add", "minimum": "maximum", "abs": "maximum", "cast": "add"}


@dataclass(frozen=True, slots=True)
class CostModel:
    """Prices of elementary work on the machine that a profile describes."""

    profile: Profile

    # Elementwise work, in vector loops

    def wide(self, dtype: str) -> float:
        """How much longer arithmetic of a type takes than that of float32."""
        return self.profile.wide if dtype in WIDE else 1.0

    def lanes(self, dtype: str) -> int:
        """The elements of one vector."""
        return self.profile.vector_bytes // (8 if dtype in WIDE else 4)

    def vectors(self, elements: float, dtype: str) -> float:
        """The elements that a loop takes the time of: those of whole vectors."""
        lanes = self.lanes(dtype)
        return math.ceil(max(elements, 1) / lanes) * float(lanes)

    def filled(self, elements: float, dtype: str) -> float:
        """The elements that loops of unknown form take the time of: at least a vector."""
        return float(max(elements, self.lanes(dtype)))

    def function_ns(self, fn: str) -> float:
        """An elementwise function of one float32 element."""
        return self.profile.functions.get(fn, self.profile.step_ns)

    def element_ns(self, fn: str = "add") -> float:
        """An elementwise function of one float32 element that is read from the nearest memory."""
        return self.function_ns(fn) + 4 * self.profile.byte_ns[0]

    def draw_ns(self, fn: str) -> float:
        """A draw from a distribution."""
        return self.profile.normal_ns if fn == "normal" else self.profile.draw_ns

    # Functions of whole axes

    def row_ns(self, fn: str, length: float, results: float, neighbours: float) -> float:
        """A function of one row that has so many elements and results.

        Rows that are ``neighbours`` in memory go on together.
        """
        profile, work = self.profile, AXIS_FUNCTIONS[fn].work
        if work == "sorted":
            return profile.leaf_ns + profile.order_ns * length * math.log2(1 + length)
        if work == "selected":
            some = results * math.log2(1 + length / max(1.0, results))
            looked_at = profile.fold_ns * length / self.lanes("float32")
            return profile.leaf_ns + looked_at + profile.order_ns * some
        if work == "in turn":
            return profile.leaf_ns + profile.serial_ns * length
        if work == "searched":
            return profile.leaf_ns + profile.order_ns * results * math.log2(1 + length)
        each = profile.serial_ns
        if work == "exponential":
            each += self.lanes("float32") * self.function_ns("exp")
        vector = 4.0 if neighbours >= self.lanes("float32") else 1.0
        return (profile.leaf_ns + each * (length + results)) / vector

    # Memory

    def level(self, size_bytes: float) -> int:
        """The number of the smallest level that holds so many bytes."""
        capacities = enumerate(self.profile.level_bytes)
        held = (k for k, capacity in capacities if size_bytes <= capacity)
        return next(held, len(self.profile.level_bytes))

    def move_ns(self, size_bytes: float) -> float:
        """Moving one byte of a set of bytes that is used again and again."""
        return self.profile.byte_ns[self.level(size_bytes)]

    def handed_over_ns(self) -> float:
        """A number that one worker writes to memory and another one reads."""
        return 4 * (2 * self.profile.byte_ns[-1] + self.profile.passed_ns)

    # Matrix products

    def multiply_ns(self, rows: float, multiplies: float, form: Form, dtype: str) -> float:
        """A multiply-add of a product with so many rows, or columns if these are fewer.

        With one of either no element of the other operand serves twice.
        """
        profile = self.profile
        size = 0 if rows <= 1 else 1 + (multiplies > SMALL) + (multiplies > MEDIUM)
        slow = {"broadcast": 1.0, "dots": profile.dots, "plain": profile.plain}[form]
        return profile.multiply_ns[size] * self.wide(dtype) * slow

    def product_ns(
        self, m: float, n: float, k: float, form: Form, dtype: str, has_loops: bool = True
    ) -> float:
        """A matrix product: its start, and the multiply-adds of whole vectors.

        Where it has no loops yet, it starts one.
        """
        rate = self.multiply_ns(min(m, n), m * n * k, form, dtype)
        fill, start = self.vectors, self.profile.product_ns
        if not has_loops:
            fill, start = self.filled, start + self.profile.leaf_ns
        if form == "broadcast":
            n = fill(n, dtype)
        elif form == "dots":
            k = fill(k, dtype)
        return start + m * n * k * rate

    # Steps that wait for each other

    def wait_ns(self, fn: str) -> float:
        """The time from an operand to the result; a product's includes a sum that follows.

        A function that was not measured takes as much longer than an exponential as in a vector.
        """
        name, waits = _SAME.get(fn, fn), {**Profile().waits, **self.profile.waits}
        if name not in waits and name in self.profile.functions:
            return waits["exp"] * self.profile.functions[name] / self.function_ns("exp")
        return waits.get(name, waits["add"])

    def fold_wait_ns(self, fold: str) -> float:
        """The time from one value of a fold to the next: that of the function it repeats."""
        return self.wait_ns(FOLDS[fold].repeats or FOLDS[fold].beats)

    # Workers

    def meeting_ns(self, workers: int) -> float:
        """A barrier of so many workers."""
        return self.profile.barrier_ns if workers > 1 else 0.0

    def call_ns(self, workers: int) -> float:
        """A call of a compiled program, until all workers have begun."""
        return self.profile.run_ns + (self.profile.joining_ns if workers > 1 else 0.0)


# For plans: the order in which they add numbers up is the same, whatever was measured.
REFERENCE = CostModel(Profile())
