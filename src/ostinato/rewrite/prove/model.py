"""Numbers for a pair of values that were not proved equal: an example in which they differ."""

from __future__ import annotations

import functools
import itertools
import math
import operator
import random
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, assert_never

import numpy as np

from ostinato.pdg.functions import COMPARED, FUNCTIONS, REPEATED, fold_unit
from ostinato.pdg.functions import FOLDS as TABLE
from ostinato.rewrite.prove.application import (
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
    key,
)
from ostinato.rewrite.prove.integers import Apply, Atom, Clip, Opaque, Poly, Quotient, Var, poly
from ostinato.rewrite.prove.normal import exact
from ostinato.rewrite.prove.typed import OUTSIDE

_TRIES = 40
_FEW = 4
_FAR = 1e-3
_MOST_STEPS = 64


def difference(left: Value, right: Value) -> str | None:
    """Words about an example in which two values differ, or None if none was found."""
    for model, a, b in _pairs(left, right, False):
        if not math.isclose(a, b, rel_tol=1e-9, abs_tol=1e-9):
            return f"differs at {model.chosen()}: {a:.6g} and {b:.6g}"
    return None


def are_apart(left: Value, right: Value) -> bool:
    """Whether one of a few examples tells two values apart, by far more than rounding does.

    Looking costs next to nothing beside trying to prove that they are equal.
    """
    for _, a, b in itertools.islice(_pairs(left, right, False), _FEW):
        if math.isfinite(a - b) and not math.isclose(a, b, rel_tol=_FAR, abs_tol=_FAR):
            return True
    return False


def rounding(left: Value, right: Value, signed: bool) -> str | None:
    """Words about an example in which two values round otherwise, or None if none was found.

    ``signed``: a zero of the other sign counts.
    """
    for model, a, b in _pairs(left, right, True):
        same = a == b or (math.isnan(a) and math.isnan(b))
        if not same or signed and math.copysign(1, a) != math.copysign(1, b):
            return f"rounds otherwise at {model.chosen()}: {a!r} and {b!r}"
    return None


def _pairs(left: Value, right: Value, in_order: bool) -> Iterator[tuple[Model, float, float]]:
    for salt in range(_TRIES):
        model = Model(salt, in_order=in_order)
        try:
            for v in sorted(free(left) | free(right), key=lambda v: (v.size is not None, v.name)):
                model.choose(v)
            yield model, model.value(left), model.value(right)
        except Undefined:
            continue


class Undefined(Exception):
    """An example outside the ranges, or too large."""


@dataclass
class Model:
    """Pseudo-random numbers for every unknown, fixed by a salt.

    Sums are rounded once, or ``in_order`` after every addition. ``special``: sizes may
    be 0 where nothing says more.
    """

    salt: int
    numbers: dict[Var, int] = field(default_factory=dict[Var, int])
    in_order: bool = False
    special: bool = False

    def chosen(self) -> str:
        return ", ".join(f"{v.name} = {n}" for v, n in self.numbers.items())

    def choose(self, v: Var) -> None:
        if v.is_size:
            self.numbers[v] = _whole(self.salt, v.name, self._least(v), 3)
        elif v.size is None:
            self.numbers[v] = _whole(self.salt, v.name, -2, 3)
        else:
            size = self.integer(v.size)
            if size <= 0:
                raise Undefined(v.name)
            self.numbers[v] = _whole(self.salt, v.name, 0, size - 1)

    def _real(self, text: str) -> float:
        return -2 + 4 * _share(self.salt, text)

    def _least(self, atom: Var | Apply) -> int:
        """The smallest number of a size."""
        return min(atom.least, 1) if self.special else 1

    def integer(self, p: Poly) -> int:
        total = 0
        for monomial, k in p.terms:
            for atom in monomial:
                k *= self._atom(atom)
            total += k
        return total

    def _atom(self, atom: Atom) -> int:
        match atom:
            case Var():
                if atom not in self.numbers:
                    self.choose(atom)
                return self.numbers[atom]
            case Apply(name, args, is_size):
                at = [self.integer(a) for a in args]
                least = self._least(atom) if is_size else -2
                return _whole(self.salt, f"{name}{at}", least, 3)
            case Quotient(of, by):
                size = self.integer(by)
                if size == 0:
                    raise Undefined("a position along an axis of no elements")
                return self.integer(of) // size
            case Clip(of, most):
                return max(0, min(self.integer(of), self.integer(most)))
            case Opaque():
                return int(atom.value(self.value, self.integer))
            case other:
                assert_never(other)

    def value(self, value: Value) -> float:
        match value:
            case Leaf(name, coordinates, element):
                at = [self.integer(p) for _, p in coordinates]
                drawn = self._real(f"{name}{at}{[self.integer(p) for p in element]}")
                return drawn / 3 if self.in_order else drawn  # so that sums must round
            case Number(of):
                return float(of) if isinstance(of, Fraction) else self.integer(of)
            case Call(fn, (of, here, size)) if fn.startswith(OUTSIDE):
                if 0 <= self.value(here) < self.value(size):
                    return self.value(of)
                return self._real(key(exact(value)))
            case Call(fn, ()) if fn.startswith("unit "):
                return float(fold_unit(fn.removeprefix("unit "), "float64"))
            case Call(fn, args):
                return self._call(fn, [self.value(a) for a in args])
            case Fold(fn, over, body):
                return self._fold(fn, list(over), body)
            case Recursion():
                return self._recursion(value)
            case Choice(test, yes, no):
                return self.value(yes if self.holds(test) else no)
            case other:
                assert_never(other)

    def holds(self, test: Test) -> bool:
        if isinstance(test, Less):
            return self.integer(test.a) < self.integer(test.b)
        at = [self.integer(p) for _, p in test.coordinates]
        return _share(self.salt, f"{test.name}{at}") < 0.5

    def _call(self, fn: str, args: list[float]) -> float:
        try:
            found = _function(fn, args)
        except (ArithmeticError, ValueError) as problem:
            raise Undefined(fn) from problem
        if found is None:
            return self._real(f"{fn}{[round(a, 7) for a in args]}")
        return found

    def _fold(self, fn: str, over: list[Var], body: Value) -> float:
        values = [self.value(body) for _ in self.steps(over)]
        if self.in_order and fn.removeprefix("scan ") in ("sum", "dot"):
            return functools.reduce(operator.add, values, 0.0)
        bare = fn.removeprefix("scan ")
        return FOLDS[bare](values) if bare in FOLDS else _repeated(bare, values)

    def steps(self, over: list[Var]) -> Iterator[None]:
        """Give the variables of a fold all their values, the first one outermost."""
        if not over:
            yield None
            return
        v, *rest = over
        size = self.integer(v.size if v.size is not None else poly(0))
        if size > _MOST_STEPS:
            raise Undefined(v.name)
        for step in range(size):
            self.numbers[v] = step
            yield from self.steps(rest)
        self.numbers.pop(v, None)

    def _recursion(self, value: Recursion) -> float:
        at, size = self.integer(value.at), self.integer(value.size)
        if not 0 <= at < size:  # some value, the same for equal recurrences
            return self._real(key(exact(value)))
        total = 0.0
        steps = range(size - 1, at - 1, -1) if value.reverse else range(at + 1)
        for step in steps:
            self.numbers[value.step] = step
            total = self.value(value.body) + self.value(value.factor) * total
        self.numbers.pop(value.step, None)
        return total


def _drawn(salt: int, text: str) -> random.Random:
    return random.Random(zlib.crc32(f"{salt} {text}".encode()))


@functools.lru_cache(1 << 14)
def _whole(salt: int, text: str, least: int, most: int) -> int:
    """The number of a text from ``least`` to ``most``: seeding takes ten times as long as this."""
    return _drawn(salt, text).randint(least, most)


@functools.lru_cache(1 << 14)
def _share(salt: int, text: str) -> float:
    """The number of a text from 0 up to 1."""
    return _drawn(salt, text).random()


def _same(a: float) -> float:
    return a


def _quotient(a: float, b: float) -> float:
    return a / b


def _true(_: float) -> float:
    return 1.0


_REAL: dict[str, Callable[..., Any]] = {
    **{fn: getattr(math, fn) for fn in FUNCTIONS if hasattr(math, fn)},
    **{fn: getattr(operator, fn) for fn in ("add", "sub", "mul", "neg", "abs")},
    "div": _quotient,
    "minimum": min,
    "maximum": max,
    "stop_gradient": _same,
    "cast:real": _same,
    # Truth values are signs.
    "not": operator.neg,
    "and": min,
    "or": max,
    "isfinite": _true,
}


def _function(fn: str, args: Sequence[float]) -> float | None:
    """The value of a function of real numbers and signs; None for one that no table knows."""
    if fn in _REAL:
        return float(_REAL[fn](*args))
    if fn == "where":
        return args[1] if args[0] > 0 else args[2]
    if fn in FUNCTIONS and FUNCTIONS[fn].binds == COMPARED:
        return 1.0 if getattr(operator, fn)(*args) else -1.0
    return _tabled(fn, args)


def _tabled(fn: str, args: Sequence[float]) -> float | None:
    """The value of a function as the interpreter has it; None for one that no table knows.

    Errors: ValueError for functions of other types than real numbers, of which nothing is known.
    """
    name = fn.partition(":")[0]
    if name not in FUNCTIONS:
        return None
    known = FUNCTIONS[name]
    if known.result != "same" or "float64" not in known.accepts:
        raise ValueError(fn)
    with np.errstate(all="ignore"):
        found = float(known.numpy(*(np.asarray(a, np.float64) for a in args)))
    if not math.isfinite(found):
        raise ValueError(fn)
    return found


def _greatest(values: list[float]) -> float:
    return max(values, default=-math.inf)


def _least(values: list[float]) -> float:
    return min(values, default=math.inf)


def _place_of_greatest(values: list[float]) -> float:
    return float(values.index(max(values))) if values else 0.0


def _place_of_least(values: list[float]) -> float:
    return float(values.index(min(values))) if values else 0.0


def _any_function_of_the_row(values: list[float]) -> float:
    return math.fsum(v * math.sqrt(2 + k) for k, v in enumerate(values))


def _repeated(fold: str, values: list[float]) -> float:
    """A fold that a program added: whole numbers, as its function may take no others."""
    repeats = FUNCTIONS[REPEATED[fold]].numpy
    whole = [np.asarray(round(v)) for v in values]
    return float(functools.reduce(repeats, whole, np.asarray(TABLE[fold].unit)))


FOLDS: dict[str, Callable[[list[float]], float]] = {
    "row": _any_function_of_the_row,
    "sum": math.fsum,
    "dot": math.fsum,
    "prod": math.prod,
    "max": _greatest,
    "min": _least,
    "any": _greatest,
    "all": _least,
    "argmax": _place_of_greatest,
    "argmin": _place_of_least,
}
