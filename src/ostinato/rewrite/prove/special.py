"""Infinities and NaN: what a law over the reals says of them, by trying all of them.

A proof over the reals takes every value to be finite. A law that asks whether values are finite is
about those that are not, so both sides are also computed, as NumPy does, for every choice of a few
values for a few elements: at most `MOST_ELEMENTS` of them, and a seeded sample beyond.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import assert_never

import numpy as np

from ostinato.pdg.functions import FOLDS, FUNCTIONS, Array
from ostinato.rewrite.prove.index import Var
from ostinato.rewrite.prove.model import Model, Undefined
from ostinato.rewrite.prove.reading import Law
from ostinato.rewrite.prove.setting import Setting
from ostinato.rewrite.prove.text import Tree
from ostinato.rewrite.prove.value import (
    Call,
    Choice,
    Fold,
    Leaf,
    Less,
    Number,
    Recursion,
    Test,
    Value,
    free,
)

VALUES = (-np.inf, np.inf, np.nan, 0.0, 2.0, -3.0)
MOST_ELEMENTS = 4
_SALTS = 16
_SAMPLE = 3_000
_ASKING = frozenset(('"isfinite"', '"isinf"', '"isnan"', '"argmax"', '"argmin"'))
Element = tuple[str, tuple[int, ...], tuple[int, ...]]


def asks_for_specials(*sides: Tree) -> bool:
    """Whether a law mentions values that are not finite."""
    return any(
        side in _ASKING if isinstance(side, str) else asks_for_specials(*side)
        for side in sides
        if not isinstance(side, int)
    )


@dataclass(frozen=True)
class Steps:
    """What is known of conditions: those that a proof assumes, and whether a step is the first."""

    law: Law
    setting: Setting
    assumed: Mapping[Test, bool]

    def holds(self, test: Test, model: Model) -> bool:
        """Whether a condition holds in a model."""
        if isinstance(test, Less):
            return model.holds(test)
        at = dict(test.coordinates)
        for fact in self.law.facts:
            match fact:
                case (("before" | "after") as side, str(dim), _, test.name):
                    step = at[self.setting.dims[dim]]
                    last = self.setting.extent(self.setting.dims[dim]) - 1
                    return model.integer(last - step if side == "after" else step) > 0
                case _:
                    pass
        return model.holds(test)

    def check(self, model: Model) -> None:
        """Refuse a model in which an assumption does not hold, or the point is outside the box.

        Errors: Undefined.
        """
        for dim, place in self.setting.point().at:
            here, size = model.integer(place), model.integer(self.setting.extent(dim))
            if self.setting.inside and dim in self.setting.dims.values() and not 0 <= here < size:
                raise Undefined(dim)
        for test, expected in self.assumed.items():
            if self.holds(test, model) != expected:
                raise Undefined("an assumption")


def special_difference(left: Value, right: Value, steps: Steps) -> str | None:
    """Words about infinities or NaN for which two values differ, or None if none were found."""
    for salt in range(_SALTS):
        trial = Trial(Model(salt), steps)
        try:
            found = trial.difference(left, right)
        except Undefined:
            continue
        if found is not None:
            return found
    return None


@dataclass
class Trial:
    """Sizes and points of a model, with a column of values for every element that is read."""

    model: Model
    steps: Steps
    columns: dict[Element, Array] = field(default_factory=dict[Element, Array])
    truths: set[Element] = field(default_factory=set[Element])

    def difference(self, left: Value, right: Value) -> str | None:
        """Words about the first row of values for which two values differ.

        Errors: Undefined where sizes are too large, or where an assumption does not hold.
        """
        for v in sorted(free(left) | free(right), key=lambda v: (v.size is not None, v.name)):
            self.model.choose(v)
        self.steps.check(self.model)
        with np.errstate(all="ignore"):
            for side in (left, right):  # which elements there are
                self.value(side)
            self._fill()
            a, b = np.broadcast_arrays(self.value(left), self.value(right))
        wrong = ~np.isclose(a, b, rtol=1e-9, atol=1e-9, equal_nan=True)
        if not wrong.any():
            return None
        row = int(np.argmax(wrong))
        read = ", ".join(f"{name} = {x[row]:g}" for (name, _, _), x in self.columns.items())
        return f"differs at {read}: {a[row]:g} and {b[row]:g}"

    def _fill(self) -> None:
        """Every choice of values for the elements, or a sample of the choices."""
        names = list(self.columns)
        kinds = [(True, False) if name in self.truths else VALUES for name in names]
        if len(names) <= MOST_ELEMENTS:
            rows: Sequence[Sequence[float]] = list(itertools.product(*kinds))
        else:
            chance = np.random.default_rng(self.model.salt)
            columns = [chance.choice(np.asarray(kind), _SAMPLE) for kind in kinds]
            rows = np.stack([c.astype("float64") for c in columns], 1).tolist()
        table = np.asarray(rows, "float64").reshape(len(rows), len(names))
        for k, name in enumerate(names):
            column = table[:, k]
            self.columns[name] = column > 0 if name in self.truths else column

    def value(self, value: Value) -> Array:
        """A value at every row."""
        match value:
            case Leaf(name, coordinates, element):
                at = tuple(self.model.integer(p) for _, p in coordinates)
                place = name, at, tuple(self.model.integer(p) for p in element)
                if value.is_truth:
                    self.truths.add(place)
                return self.columns.setdefault(place, np.ones(1, bool if value.is_truth else float))
            case Number(of):
                number = float(of) if isinstance(of, Fraction) else self.model.integer(of)
                return np.asarray([number], "float64")
            case Call(fn, args):
                return self._call(fn, [self.value(a) for a in args])
            case Fold(fn, over, body):
                return self._fold(fn.removeprefix("scan "), list(over), body)
            case Recursion():
                return self._recursion(value)
            case Choice(test, yes, no):
                return self.value(yes if self.steps.holds(test, self.model) else no)
            case other:
                assert_never(other)

    def _call(self, fn: str, args: Sequence[Array]) -> Array:
        name = fn.partition(":")[0]
        if name == "cast":
            return args[0]
        if name not in FUNCTIONS:
            raise Undefined(fn)
        return np.asarray(FUNCTIONS[name].numpy(*args))

    def _fold(self, fn: str, over: list[Var], body: Value) -> Array:
        name = "sum" if fn == "dot" else fn
        if name not in FOLDS:
            raise Undefined(fn)
        found = [self.value(body) for _ in self.model.steps(over)]
        if not found:
            empty = {"sum": 0.0, "prod": 1.0, "max": -np.inf, "min": np.inf}
            empty |= {"argmax": 0.0, "argmin": 0.0}
            if name not in empty:
                raise Undefined(fn)
            return np.asarray([empty[name]])
        return np.asarray(getattr(np, name)(np.stack(np.broadcast_arrays(*found)), axis=0))

    def _recursion(self, value: Recursion) -> Array:
        at, size = self.model.integer(value.at), self.model.integer(value.size)
        total: Array = np.zeros(1)
        if not 0 <= at < size:
            return total
        first = at if not value.reverse else size - 1 - at
        for k in range(first + 1):
            self.model.numbers[value.step] = size - 1 - k if value.reverse else k
            body, factor = self.value(value.body), self.value(value.factor)
            total = np.asarray(body + factor * total) if k else np.asarray(body)
        self.model.numbers.pop(value.step, None)
        return total
