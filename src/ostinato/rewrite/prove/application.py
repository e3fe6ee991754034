"""One element of a term: applications of leaves, functions, folds and choices."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import assert_never, cast

from ostinato.rewrite.prove.integers import Poly, Renaming, Var


class _Keyed:
    @cached_property
    def key(self) -> str:
        return _text(cast("Value", self))

    @cached_property
    def free(self) -> frozenset[Var]:
        return _free(cast("Value", self))


@dataclass(frozen=True)
class Leaf(_Keyed):
    """An element of an arbitrary tensor at a point: ``coordinates`` by name of dimension."""

    name: str
    coordinates: tuple[tuple[str, Poly], ...]
    element: tuple[Poly, ...]
    is_truth: bool = False


@dataclass(frozen=True)
class Number(_Keyed):
    """A literal, or the value of an index expression."""

    of: Fraction | Poly


@dataclass(frozen=True)
class Call(_Keyed):
    """An elementwise function; names that no table knows stand for any function."""

    fn: str
    args: tuple[Value, ...]


@dataclass(frozen=True)
class Fold(_Keyed):
    """A fold of ``body`` over variables, in the order of the axes they stand for."""

    fn: str
    over: tuple[Var, ...]
    body: Value


@dataclass(frozen=True)
class Recursion(_Keyed):
    """``y[e] = body + factor * y[e - 1]`` (``+ 1`` in reverse) at ``at``; zero outside the box."""

    reverse: bool
    step: Var
    factor: Value
    body: Value
    at: Poly
    size: Poly


@dataclass(frozen=True, slots=True)
class Unknown:
    """A condition on the point of which nothing is known but what it depends on."""

    name: str
    coordinates: tuple[tuple[str, Poly], ...]


@dataclass(frozen=True, slots=True)
class Less:
    """``a < b``."""

    a: Poly
    b: Poly


Test = Unknown | Less


@dataclass(frozen=True)
class Choice(_Keyed):
    """``yes`` where the test holds, else ``no``; the other one is not evaluated."""

    test: Test
    yes: Value
    no: Value


Value = Leaf | Number | Call | Fold | Recursion | Choice


def number(of: int | Fraction | Poly) -> Number:
    return Number(of if isinstance(of, Poly) else Fraction(of))


def indices(value: Value) -> Iterator[Poly]:
    """The integers of a value's own record, without those of its operands."""
    match value:
        case Leaf(_, coordinates, element):
            yield from (p for _, p in coordinates)
            yield from element
        case Number(of):
            if isinstance(of, Poly):
                yield of
        case Fold(_, over, _):
            yield from (v.size for v in over if v.size is not None)
        case Recursion():
            yield value.at
            yield value.size
        case Choice(test, _, _):
            yield from _tested(test)
        case Call():
            pass
        case other:
            assert_never(other)


def _tested(test: Test) -> Iterator[Poly]:
    if isinstance(test, Less):
        yield from (test.a, test.b)
    else:
        yield from (p for _, p in test.coordinates)


def operands(value: Value) -> tuple[Value, ...]:
    """The values that a value is made of."""
    match value:
        case Leaf() | Number():
            return ()
        case Call(_, args):
            return args
        case Fold(_, _, body):
            return (body,)
        case Recursion():
            return value.factor, value.body
        case Choice(_, yes, no):
            return yes, no
        case other:
            assert_never(other)


def free(value: Value) -> frozenset[Var]:
    """The variables that a value depends on."""
    return value.free


def _free(value: Value) -> frozenset[Var]:
    out = frozenset[Var]().union(*(p.variables() for p in indices(value)))
    inner = frozenset[Var]().union(*map(free, operands(value)))
    if isinstance(value, Fold):
        inner -= frozenset(value.over)
    elif isinstance(value, Recursion):
        inner -= {value.step}
    return out | inner


def rename(value: Value, by: Renaming) -> Value:
    """The value with free variables replaced; new names must not be bound inside."""
    match value:
        case Leaf(name, coordinates, element):
            moved = tuple((d, p.renamed(by)) for d, p in coordinates)
            return Leaf(name, moved, tuple(p.renamed(by) for p in element), value.is_truth)
        case Number(of):
            return Number(of.renamed(by)) if isinstance(of, Poly) else value
        case Call(fn, args):
            return Call(fn, tuple(rename(a, by) for a in args))
        case Fold(fn, over, body):
            kept = tuple(_resized(v, by) for v in over)
            inner = {**by, **{v: Poly.of(k) for v, k in zip(over, kept, strict=True)}}
            return Fold(fn, kept, rename(body, inner))
        case Recursion(reverse, step, factor, body, at, size):
            inner = {v: p for v, p in by.items() if v != step}
            parts = rename(factor, inner), rename(body, inner)
            return Recursion(reverse, step, *parts, at.renamed(by), size.renamed(by))
        case Choice(test, yes, no):
            return Choice(_renamed(test, by), rename(yes, by), rename(no, by))
        case other:
            assert_never(other)


def _resized(v: Var, by: Renaming) -> Var:
    return Var(v.name, v.size.renamed(by)) if v.size is not None else v


def _renamed(test: Test, by: Renaming) -> Test:
    if isinstance(test, Less):
        return Less(test.a.renamed(by), test.b.renamed(by))
    return Unknown(test.name, tuple((d, p.renamed(by)) for d, p in test.coordinates))


def key(value: Value) -> str:
    """A text that equal values share (bound variables included)."""
    return value.key


def _text(value: Value) -> str:
    match value:
        case Leaf(name, coordinates, element):
            at = ",".join(f"{d}={p.key}" for d, p in coordinates)
            return f"{name}[{at}][{','.join(p.key for p in element)}]"
        case Number(of):
            return of.key if isinstance(of, Poly) else str(of)
        case Call(fn, args):
            return f"{fn}({', '.join(map(key, args))})"
        case Fold(fn, over, body):
            ranges = ",".join(f"{v.name}<{v.size.key if v.size else ''}" for v in over)
            return f"{fn}{{{ranges}}}({key(body)})"
        case Recursion():
            head = f"{'back' if value.reverse else 'on'} {value.step.name} to {value.at.key}"
            return f"{{{head}<{value.size.key}}}({key(value.factor)}, {key(value.body)})"
        case Choice(test, yes, no):
            return f"({key(yes)} if {_test_key(test)} else {key(no)})"
        case other:
            assert_never(other)


def _test_key(test: Test) -> str:
    if isinstance(test, Less):
        return f"{test.a.key}<{test.b.key}"
    return f"{test.name}[{','.join(f'{d}={p.key}' for d, p in test.coordinates)}]"
