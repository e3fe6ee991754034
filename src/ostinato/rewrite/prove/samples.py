"""Elements at rows of special values, computed as the interpreter computes them.

The sizes and the point come from a model; each element of a leaf that is read has a column of
values of its type, so that all choices of values are computed together.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np

from ostinato.pdg.functions import FOLDS, FUNCTIONS, POSITIONS, REPEATED, Array, fold_unit
from ostinato.pdg.meaning import fold
from ostinato.pdg.node import Dtype
from ostinato.rewrite.prove.application import (
    Choice,
    Fold,
    Leaf,
    Number,
    Recursion,
    Test,
    free,
    key,
)
from ostinato.rewrite.prove.integers import poly
from ostinato.rewrite.prove.model import Model
from ostinato.rewrite.prove.normal import exact
from ostinato.rewrite.prove.typed import OUTSIDE, Typed

_PLAIN = (-np.inf, np.inf, np.nan, -0.0, 0.0, 2.0, -2.6, 0.3, 1000.0, -1000.0)
_EDGES = (5e-324, -1.7e308, 1.7e308, 1 / 3, 1.0)
_INT = np.iinfo("int32")
_WHOLE = {
    "int32": (_INT.min, _INT.min + 1, -7, -2, -1, 0, 1, 3, 46341, _INT.max),
    "uint32": (0, 1, 2, 7, 46341, 65536, 2**31, np.iinfo("uint32").max),
    "bool": (False, True),
}
_MOST_ROWS = 10_000
_SAMPLE = 2_000
Element = tuple[str, tuple[int, ...], tuple[int, ...]]


class Holds:
    """Whether a condition on the point holds in a model."""

    def holds(self, test: Test, model: Model) -> bool:
        return model.holds(test)


@dataclass
class Samples:
    """Sizes and a point, the types of values, and a column for every element that is read.

    ``edges``: the values at which arithmetic over- and underflows are tried as well.
    ``skips``: a product with a zero that indices choose is zero. ``bounded``: tensors without
    infinities and NaN.
    ``spoilt``: the rows in which a finite operation overflowed, underflowed or reached the limit
    of a function; ``scale``: the greatest number that was added.
    """

    model: Model
    conditions: Holds
    types: Mapping[int, Dtype]
    edges: bool
    skips: bool
    bounded: frozenset[str] = frozenset()
    columns: dict[Element, Array] = field(default_factory=dict[Element, Array])
    kinds: dict[Element, Dtype] = field(default_factory=dict[Element, Dtype])

    def __post_init__(self) -> None:
        self.spoilt, self.scale = np.zeros(1, bool), np.ones(1)

    def fill(self) -> None:
        """Every choice of values for the elements that were read, or a sample of the choices."""
        plain = _PLAIN + (_EDGES if self.edges else ())
        names = list(self.columns)
        kinds = [_WHOLE.get(self.kinds[name], self._floats(name[0], plain)) for name in names]
        if math.prod(map(len, kinds)) <= _MOST_ROWS:
            rows = list(itertools.product(*kinds))
            columns = [np.asarray([row[k] for row in rows]) for k in range(len(names))]
        else:
            chance = np.random.default_rng(self.model.salt)
            columns = [chance.choice(np.asarray(kind), _SAMPLE) for kind in kinds]
        for name, column in zip(names, columns, strict=True):
            self.columns[name] = column.astype(self.kinds[name])

    def _floats(self, name: str, plain: tuple[float, ...]) -> tuple[float, ...]:
        if name not in self.bounded:
            return plain
        return tuple(x for x in plain if np.isfinite(x))

    def result(self, side: Typed) -> tuple[Array, Array, Array]:
        """A side in every row, the rows that overflow, and the greatest number in each."""
        self.spoilt, self.scale = np.zeros(1, bool), np.ones(1)
        return self.value(side), self.spoilt, self.scale

    def value(self, of: Typed) -> Array:
        """A value at every row, in its type.

        Errors: Undefined.
        """
        kind, value = self.types[of.kind], of.value
        match value:
            case Leaf(name, coordinates, element):
                at = tuple(self.model.integer(p) for _, p in coordinates)
                place = name, at, tuple(self.model.integer(p) for p in element)
                self.kinds[place] = kind
                return self.columns.setdefault(place, np.ones(1, kind))
            case Number(number):
                known = number if isinstance(number, Fraction) else self.model.integer(number)
                return np.asarray([known]).astype(kind)
            case Fold(_, over, _):
                found = [self.value(of.parts[0]) for _ in self.model.steps(list(over))]
                return self._fold(of.fn, found, self.types[of.parts[0].kind], kind)
            case Recursion():
                return self._recursion(of, value)
            case Choice(test, _, _):
                return self.value(of.parts[not self.conditions.holds(test, self.model)])
            case _:
                return self._call(of, kind)

    def _call(self, of: Typed, kind: Dtype) -> Array:
        if of.fn.startswith("unit "):
            return np.asarray([fold_unit(of.fn.removeprefix("unit "), kind)]).astype(kind)
        if of.fn.startswith(OUTSIDE):
            here, size = (int(self.value(part)[0]) for part in of.parts[1:])
            return self.value(of.parts[0]) if 0 <= here < size else self._anything(of, kind)
        if of.fn == "mul" and self.skips and any(map(self._is_left_out, of.parts)):
            return np.zeros(1, kind)
        args = [self.value(part) for part in of.parts]
        if of.fn == "cast":
            return args[0].astype(kind)
        return self._noted(of.fn, args, np.asarray(FUNCTIONS[of.fn].numpy(*args)).astype(kind))

    def _anything(self, of: Typed, kind: Dtype) -> Array:
        """What stands outside the box: any value, the same for equal ones."""
        names = sorted(free(of.value), key=lambda v: v.name)
        place = key(exact(of.value)), tuple(self.model.integer(poly(v)) for v in names), ()
        self.kinds[place] = kind
        return self.columns.setdefault(place, np.ones(1, kind))

    def _is_left_out(self, of: Typed) -> bool:
        """Whether indices alone choose a zero."""
        match of.fn, of.parts:
            case "where", (test, *sides) if _is_of_indices(test):
                side = sides[not self.value(test)[0]]
                return self._is_left_out(side) or (
                    isinstance(side.value, Number) and not self.value(side)[0]
                )
            case "", () if isinstance(of.value, Number):
                return not isinstance(of.value.of, Fraction) and not self.value(of)[0]
            case "mul", parts:
                return any(map(self._is_left_out, parts))
            case "cast", (test,) if _is_of_indices(test):
                return not self.value(test)[0]
            case _:
                return False

    def _noted(self, fn: str, args: Sequence[Array], found: Array) -> Array:
        """The value, and the rows in which a finite operation left the range of its type."""
        if found.dtype.kind != "f" or any(a.dtype.kind != "f" for a in args):
            return found
        fine = np.isfinite(np.broadcast_arrays(found, *args)[1:]).all(axis=0)
        lost = np.zeros(1, bool)
        if FUNCTIONS[fn].overflows:
            pole = args[-1] == 0 if fn == "div" else args[0] == 0 if fn == "pow" else False
            lost = ~np.isfinite(found) & fine & ~np.asarray(pole)
            if fn == "pow":
                lost = lost & ~np.isnan(found)
        if fn in ("mul", "div", "pow"):
            nonzero = np.all([a != 0 for a in np.broadcast_arrays(*args)], axis=0)
            lost = lost | (found == 0) & fine & nonzero
        for limit in FUNCTIONS[fn].limits:
            lost = lost | (found == limit) & fine
        self.spoilt = self.spoilt | lost
        self._scaled(found)
        return found

    def _scaled(self, found: Array) -> None:
        size = np.where(np.isfinite(found), np.abs(found), 0.0)
        self.scale = np.maximum(self.scale, size)

    def _fold(self, name: str, found: Sequence[Array], inner: Dtype, kind: Dtype) -> Array:
        if not found:
            place = name in POSITIONS
            unit = 0 if place else fold_unit(name, inner)
            return np.asarray([unit]).astype(kind)
        rows = np.stack(np.broadcast_arrays(*found))
        if FOLDS[name].rounds:
            fn = REPEATED[name]
            total = np.asarray(rows[0])
            for row in rows[1:]:
                total = self._noted(fn, [total, row], FUNCTIONS[fn].numpy(total, row))
            return total
        return fold(name, rows, (-rows.ndim,)).astype(kind)

    def _recursion(self, of: Typed, value: Recursion) -> Array:
        at, size = self.model.integer(value.at), self.model.integer(value.size)
        kind = self.types[of.kind]
        if not 0 <= at < size:
            return self._anything(of, kind)
        first, total = at if not value.reverse else size - 1 - at, np.zeros(1, kind)
        for k in range(first + 1):
            self.model.numbers[value.step] = size - 1 - k if value.reverse else k
            body = self.value(of.parts[1])
            if k:
                factor = self.value(of.parts[0])
                scaled = self._noted("mul", [factor, total], factor * total)
                total = self._noted("add", [body, scaled], body + scaled)
            else:
                total = body
        self.model.numbers.pop(value.step, None)
        return total


def _is_of_indices(of: Typed) -> bool:
    return not isinstance(of.value, Leaf | Choice | Fold) and all(map(_is_of_indices, of.parts))
