"""Special values: whether both sides of a law keep what its class of exactness promises of them.

A proof over the reals takes every value to be finite, and one bit for bit knows only the laws it
was told. So both sides of every law are also computed, in every type that the operators accept, for
every choice of a few values for a few elements: infinities, NaN, zeros of both signs, large, small
and negative numbers, the ends of the integers. Ranges may be empty there, and points lie outside
the box unless the law is about those inside.

Elements are computed as the interpreter computes them. The sizes and the point come from a model;
each element of a leaf that is read has a column of values of its type, so that all choices of
values are computed together.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import get_args

import numpy as np

from ostinato.pdg.functions import FOLDS, FUNCTIONS, POSITIONS, REPEATED, Array, fold_unit
from ostinato.pdg.meaning import fold
from ostinato.pdg.node import Dtype
from ostinato.rewrite.engine.rule import Exactness
from ostinato.rewrite.prove.application import (
    Choice,
    Fold,
    Leaf,
    Less,
    Number,
    Recursion,
    Test,
    Value,
    free,
    key,
)
from ostinato.rewrite.prove.integers import Poly, Var, poly
from ostinato.rewrite.prove.model import Model, Undefined
from ostinato.rewrite.prove.normal import exact
from ostinato.rewrite.prove.reading import Law
from ostinato.rewrite.prove.setting import Setting
from ostinato.rewrite.prove.typed import OUTSIDE, IllTyped, Typed, Types
from ostinato.rewrite.relations.meanings import Beside, Nearby
from ostinato.rewrite.relations.sexpr import Tree

_PLAIN = (-np.inf, np.inf, np.nan, -0.0, 0.0, 2.0, -2.6, 0.3, 1000.0, -1000.0)
_EDGES = (5e-324, -1.7e308, 1.7e308, 1 / 3, 1.0)
_LARGE = (1e200, -1e200)  # whose product, and what else is steep, leaves the range
_INT = np.iinfo("int32")
_WHOLE = {
    "int32": (_INT.min, _INT.min + 1, -7, -2, -1, 0, 1, 3, 46341, _INT.max),
    "uint32": (0, 1, 2, 7, 46341, 65536, 2**31, np.iinfo("uint32").max),
    "bool": (False, True),
}
_MOST_ROWS = 10_000
_SAMPLE = 2_000
_FEW, _MODERATE = 46341.0, 8.0
Bounds = Mapping[str, float]
Element = tuple[str, tuple[int, ...], tuple[int, ...]]


class Holds:
    """Whether a condition on the point holds in a model."""

    def holds(self, test: Test, model: Model) -> bool:
        return model.holds(test)


@dataclass
class Samples:
    """Sizes and a point, the types of values, and a column for every element that is read.

    ``edges``: further values that are tried, at which arithmetic over- or underflows.
    ``skips``: a product with a zero that indices choose is zero. ``bounded``: the
    most that elements of some tensors are.
    ``spoilt``: the rows in which a finite operation overflowed, underflowed or reached the limit
    of a function; ``scale``: the greatest number that was added.
    """

    model: Model
    conditions: Holds
    types: Mapping[int, Dtype]
    edges: tuple[float, ...]
    skips: bool
    bounded: Bounds = field(default_factory=dict[str, float])
    columns: dict[Element, Array] = field(default_factory=dict[Element, Array])
    kinds: dict[Element, Dtype] = field(default_factory=dict[Element, Dtype])

    def __post_init__(self) -> None:
        self.spoilt, self.scale = np.zeros(1, bool), np.ones(1)

    def fill(self) -> None:
        """Every choice of values for the elements that were read, or a sample of the choices."""
        plain = _PLAIN + self.edges
        names = list(self.columns)
        kinds = [self._values(name[0], self.kinds[name], plain) for name in names]
        if math.prod(map(len, kinds)) <= _MOST_ROWS:
            rows = list(itertools.product(*kinds))
            columns = [np.asarray([row[k] for row in rows]) for k in range(len(names))]
        else:
            chance = np.random.default_rng(self.model.salt)
            columns = [chance.choice(np.asarray(kind), _SAMPLE) for kind in kinds]
        for name, column in zip(names, columns, strict=True):
            self.columns[name] = column.astype(self.kinds[name])

    def _values(self, name: str, kind: Dtype, plain: tuple[float, ...]) -> tuple[float, ...]:
        plain = _WHOLE.get(kind, plain)
        most = self.bounded.get(name)
        return plain if most is None else tuple(x for x in plain if abs(x) <= most)

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


_SALTS = 24  # that are drawn
_MODELS = 2  # of which so many are computed that read equally many elements
_CLOSE = {"float64": 1e-9, "float32": 1e-4, "float16": 1e-2}  # of the greatest number on the way


@dataclass(frozen=True)
class Steps(Holds):
    """What is known of conditions: those that a proof assumes, and whether a step is the first."""

    law: Law
    setting: Setting
    assumed: Mapping[Test, bool]

    def holds(self, test: Test, model: Model) -> bool:
        """Whether a condition holds in a model."""
        if isinstance(test, Less):
            return model.holds(test)
        at = dict(test.coordinates)
        for row in self.law.rows:
            sides = [beside.by > 0 for beside in row.claims(Beside)]
            sides += [bool(self.setting.numbers[row["f"]]) for _ in row.claims(Nearby)]
            if sides and row["c"] == test.name:
                step = at[self.setting.dims[row["d"]]]
                last = self.setting.extent(self.setting.dims[row["d"]]) - 1
                return model.integer(last - step if sides[0] else step) > 0
        decided = self.setting.holds(test)
        return model.holds(test) if decided is None else decided

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


def special_difference(
    sides: tuple[Value, Value], steps: Steps, exact: Exactness, shape: tuple[Poly, ...]
) -> str | None:
    """Words about special values for which two sides differ, or None if none were found.

    ``shape``: the sizes at the point, of which the element is one.
    """
    types = Types.for_sides(*sides)
    try:
        for name, allowed in _declared(steps.law):
            types.restrict(types.leaf(name), allowed)
        left, right = map(types.of, sides)
        types.unify(left.kind, right.kind)
    except IllTyped:
        return None
    variables = tuple(sorted(free(sides[0]) | free(sides[1]), key=_sizes_first))
    for chosen in types.choices():
        trial = _Trial(chosen, steps, exact, shape, variables)
        for salt in range(_SALTS):
            try:
                found = _difference((left, right), trial, salt)
            except Undefined:
                continue
            if found is not None:
                return found
    return None


def _declared(law: Law) -> Iterator[tuple[str, frozenset[str]]]:
    """The types that facts say, or deny, a tensor to have."""
    named = {e: x for f in law.facts if (e := _typed(f)[0]) for x in (_typed(f)[1],)}
    for fact in law.facts:
        match fact:
            case ("=", str(e), ("dtype", str(x))) if e.startswith('"'):
                yield x, frozenset((e.strip('"'),))
            case ("!=", str(e), str(dtype)) if e in named:
                yield named[e], frozenset(get_args(Dtype)) - {dtype.strip('"')}
            case _:
                pass


def _typed(fact: Tree) -> tuple[str, str]:
    match fact:
        case ("=", str(e), ("dtype", str(x))):
            return e, x
        case _:
            return "", ""


@dataclass(frozen=True)
class _Trial:
    """``variables``: of both sides, sizes first; ``seen``: how often as many elements were read."""

    types: Mapping[int, Dtype]
    steps: Steps
    exact: Exactness
    shape: tuple[Poly, ...]
    variables: tuple[Var, ...]
    seen: Counter[int] = field(default_factory=Counter[int])


def _difference(typed: tuple[Typed, Typed], trial: _Trial, salt: int) -> str | None:
    """Words about the first row of values for which two sides differ.

    Errors: Undefined where sizes are too large, or where an assumption does not hold.
    """
    model, exact = Model(salt, special=True), trial.exact
    for v in trial.variables:
        model.choose(v)
    if any(model.integer(size) < 1 for size in trial.shape):
        raise Undefined("an element of nothing")
    trial.steps.check(model)
    bitwise = exact in ("exact", "zero signs")
    bounded = _bounds(trial.steps.setting)
    edges = _EDGES if bitwise else () if _is_product(typed[0]) else _LARGE
    samples = Samples(model, trial.steps, trial.types, edges, exact == "skips zeros", bounded)
    with np.errstate(all="ignore"):
        for side in typed:  # which elements there are
            samples.value(side)
        trial.seen[len(samples.columns)] += 1
        if trial.seen[len(samples.columns)] > _MODELS:
            return None
        samples.fill()
        a, lost, scale = samples.result(typed[0])
        b, _, other = samples.result(typed[1])
        a, b, lost, scale = np.broadcast_arrays(a, b, lost, np.maximum(scale, other))
        wrong = ~agree(exact, a, b, scale)
    if not bitwise:
        wrong = wrong & ~lost
    if not wrong.any():
        return None
    row = int(np.argmax(wrong))
    read = ", ".join(f"{place[0]} = {x[row % len(x)]:g}" for place, x in samples.columns.items())
    sizes = model.chosen()
    where = " and ".join(part for part in (sizes, read) if part)
    return f"differs at {where} ({a.dtype}): {a[row]!s} and {b[row]!s}"


def _is_product(of: Typed) -> bool:
    """Whether factors are multiplied somewhere, which in another order may leave the range."""
    steep = isinstance(of.value, Recursion | Fold) or of.fn in ("mul", "div", "pow")
    return steep or any(map(_is_product, of.parts))


def _bounds(setting: Setting) -> dict[str, float]:
    """The most that elements of tensors are of which facts say something."""
    most = dict[str, float]()
    for names, bound in (
        (setting.bounded, float(np.finfo("float64").max)),
        (setting.unwrapped, _FEW),
        (setting.moderate, _MODERATE),
    ):
        most |= dict.fromkeys(names, bound)
    return most


def _sizes_first(v: Var) -> tuple[bool, str]:
    return v.size is not None, v.name


def agree(exact: Exactness, a: Array, b: Array, scale: Array) -> Array:
    """Where two columns are as equal as a class of exactness promises."""
    if a.dtype.kind != "f":
        return np.asarray(a == b)
    same = (a == b) | (np.isnan(a) & np.isnan(b))
    if exact == "exact":
        return np.asarray(same & ((a != 0) | (np.signbit(a) == np.signbit(b))))
    if exact == "zero signs":
        return np.asarray(same)
    with np.errstate(all="ignore"):
        close = np.isfinite(a) & np.isfinite(b) & (np.abs(a - b) <= _CLOSE[a.dtype.name] * scale)
    if exact == "reassociates":
        return np.asarray(same | close)
    return np.asarray(same | close | (~np.isfinite(a) & ~np.isfinite(b)))
