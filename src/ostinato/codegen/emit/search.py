"""Searching a sorted row for many values at once.

How many places are left at a step depends on the size of the row alone, so that all values of a
block take each step together, without branches: a vector of places, and one read of keys.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass

from ostinato.codegen.emit.accumulators import get, put, take
from ostinato.codegen.emit.function import Function
from ostinato.codegen.emit.value import Scope, bind
from ostinato.codegen.ir.partial_sums import PARTS
from ostinato.codegen.loops.expression import FLOATS, Expression, Name, Not, binary, call, compare
from ostinato.codegen.loops.statements import Block
from ostinato.pdg.node import Dtype

Key = Callable[[Expression], Expression]  # the key at a place of the row


@dataclass
class Search:
    """A search of a row of ``size`` keys, by the variables that it needs."""

    fold: str  # "searchleft" or "searchright"
    dtype: Dtype
    size: Expression
    name: str
    function: Function

    def __post_init__(self) -> None:
        fresh = self.function.names.fresh
        self.place, self.value = fresh(f"{self.name}_place"), fresh(f"{self.name}_value")
        self.left, self.half = Name(fresh("left")), Name(fresh("half"))

    def take(self, out: Block) -> None:
        """Have room for a place and a value of every lane."""
        take(self.function, self.place, "int32", PARTS, out)
        take(self.function, self.value, self.dtype, PARTS, out)

    def start(self, lane: Expression, value: Expression, out: Block) -> None:
        """Begin at the first place."""
        out.add(put(self.place, lane, call("i32", 0)))
        out.add(put(self.value, lane, value))

    def halve(
        self,
        lane: Expression,
        lanes: Callable[[], AbstractContextManager[None]],
        key: Key,
        out: Block,
    ) -> None:
        """Halve the places that are left until there is one."""
        out.let(self.left.id, self.size)
        with out.repeat(self.left > 1):
            out.let(self.half.id, self.left // 2)
            with lanes():
                place = out.let(f"{self.place}_old", get(self.place, lane))
                ahead = binary("+", place, self.half)
                passed = self.is_passed(key(ahead - 1), get(self.value, lane))
                out.add(put(self.place, lane, call("where", passed, call("i32", ahead), place)))
            out.let(self.left.id, self.left - self.half)

    def last(self, lane: Expression, key: Key, scope: Scope) -> Expression:
        """The place that was sought: the one that is left, or behind it; 0 in an empty row."""
        place = bind(get(self.place, lane), f"{self.place}_found", scope)
        none = scope.fresh(f"{self.place}_all")
        scope.out.let(none, call("i32", 0))
        with scope.out.when(self.size > 0):
            passed = self.is_passed(key(place), get(self.value, lane))
            scope.out.let(none, call("i32", binary("+", place, call("i32", passed))))
        return Name(none)

    def is_passed(self, key: Expression, value: Expression) -> Expression:
        """Whether the value belongs behind a key; NaN is last."""
        if self.fold == "searchleft":
            return self.is_less(key, value)
        return Not(self.is_less(value, key))

    def is_less(self, one: Expression, other: Expression) -> Expression:
        less = compare("<", one, other)
        if self.dtype not in FLOATS:
            return less
        is_last = binary("&", compare("!=", other, other), compare("==", one, one))
        return binary("|", less, is_last)
