"""Special values: whether both sides of a law keep what its class of exactness promises of them.

A proof over the reals takes every value to be finite, and one bit for bit knows only the laws it
was told. So both sides of every law are also computed, in every type that the operators accept, for
every choice of a few values for a few elements: infinities, NaN, zeros of both signs, large, small
and negative numbers, the ends of the integers. Ranges may be empty there, and points lie outside
the box unless the law is about those inside.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import get_args

import numpy as np

from ostinato.pdg.functions import Array
from ostinato.pdg.node import Dtype
from ostinato.rewrite.engine.rule import Exactness
from ostinato.rewrite.prove.application import Less, Test, Value, free
from ostinato.rewrite.prove.integers import Poly, Var
from ostinato.rewrite.prove.model import Model, Undefined
from ostinato.rewrite.prove.reading import Law
from ostinato.rewrite.prove.samples import Holds, Samples
from ostinato.rewrite.prove.setting import Setting
from ostinato.rewrite.prove.typed import IllTyped, Typed, Types
from ostinato.rewrite.relations.meanings import Beside
from ostinato.rewrite.relations.sexpr import Tree

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
            for beside in row.claims(Beside):
                if row["c"] == test.name:
                    step = at[self.setting.dims[row["d"]]]
                    last = self.setting.extent(self.setting.dims[row["d"]]) - 1
                    return model.integer(step if beside.by < 0 else last - step) > 0
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
    for chosen in types.choices():
        trial = _Trial(chosen, steps, exact, shape)
        for salt in range(_SALTS):
            try:
                found = _difference(sides, (left, right), trial, salt)
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
    """``seen``: how often as many elements were read."""

    types: Mapping[int, Dtype]
    steps: Steps
    exact: Exactness
    shape: tuple[Poly, ...]
    seen: Counter[int] = field(default_factory=Counter[int])


def _difference(
    sides: tuple[Value, Value], typed: tuple[Typed, Typed], trial: _Trial, salt: int
) -> str | None:
    """Words about the first row of values for which two sides differ.

    Errors: Undefined where sizes are too large, or where an assumption does not hold.
    """
    model, exact = Model(salt, special=True), trial.exact
    for v in sorted(frozenset[Var]().union(*map(free, sides)), key=_sizes_first):
        model.choose(v)
    if any(model.integer(size) < 1 for size in trial.shape):
        raise Undefined("an element of nothing")
    trial.steps.check(model)
    bitwise = exact in ("exact", "zero signs")
    bounded = frozenset(trial.steps.setting.bounded)
    samples = Samples(model, trial.steps, trial.types, bitwise, exact == "skips zeros", bounded)
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
