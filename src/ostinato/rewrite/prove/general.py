"""Claims freed of what they do not depend on, so that what many readings ask is proved once.

A tensor that is read at one and the same index of an axis everywhere is as good as one without that
axis: whatever holds for all tensors of fewer axes holds for this one at that index. Readings that
differ in such axes only, or in names of variables, then ask the same.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import assert_never

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
    operands,
)
from ostinato.rewrite.prove.integers import Apply, Atom, Clip, Opaque, Poly, Quotient, Var

Way = Callable[[Value, Value], str]
Places = Mapping[str, tuple[list[int], list[int]]]  # coordinates and axes of leaves that are left


def generalized(left: Value, right: Value) -> tuple[Value, Value]:
    """Both values, of leaves with only the coordinates and axes in which their reads differ."""
    reads: dict[str, list[Leaf]] = {}
    bound = set[str]()
    for part in (*_parts(left), *_parts(right)):
        match part:
            case Leaf():
                reads.setdefault(part.name, []).append(part)
            case Fold():
                bound |= {v.name for v in part.over}
            case Recursion():
                bound.add(part.step.name)
            case _:
                pass
    kept = {
        name: (
            _varying([tuple(p for _, p in x.coordinates) for x in found], bound),
            _varying([x.element for x in found], bound),
        )
        for name, found in reads.items()
    }
    return _thinned(left, kept), _thinned(right, kept)


def _parts(value: Value) -> Iterator[Value]:
    yield value
    for part in operands(value):
        yield from _parts(part)


def _varying(rows: list[tuple[Poly, ...]], bound: set[str]) -> list[int]:
    """The places at which rows differ, or hold what is bound; all, of rows unlike in length."""
    if len({*map(len, rows)}) > 1:
        return list(range(max(map(len, rows))))
    columns = enumerate(zip(*rows, strict=True))
    return [k for k, column in columns if len({*column}) > 1 or _names(column[0]) & bound]


def _names(p: Poly) -> set[str]:
    return {v.name for v in p.variables()}


def _thinned(value: Value, kept: Places) -> Value:
    match value:
        case Leaf(name, coordinates, element):
            points, axes = kept[name]
            there = tuple(x for k, x in enumerate(coordinates) if k in points)
            return Leaf(
                name, there, tuple(x for k, x in enumerate(element) if k in axes), value.is_truth
            )
        case Number():
            return value
        case Call(fn, args):
            return Call(fn, tuple(_thinned(x, kept) for x in args))
        case Fold(fn, over, body):
            return Fold(fn, over, _thinned(body, kept))
        case Recursion():
            parts = _thinned(value.factor, kept), _thinned(value.body, kept)
            return replace(value, factor=parts[0], body=parts[1])
        case Choice(test, yes, no):
            return Choice(test, _thinned(yes, kept), _thinned(no, kept))
        case other:
            assert_never(other)


class Claims:
    """What is known of pairs of values, and so of all pairs that differ in names only."""

    def __init__(self) -> None:
        self.known = dict[tuple[str, str], str]()

    def once(self, way: str, how: Way, values: tuple[Value, Value]) -> str:
        """What a way to show two values equal says of them: a method, "" for none."""
        text = claim(*values)
        if text is None:
            return how(*values)
        found = self.known.get((way, text))
        if found is None:
            found = self.known[way, text] = how(*values)
        return found


class _Unnamed(Exception):
    """A value holds an integer of which only a text is known."""


def claim(left: Value, right: Value) -> str | None:
    """A text that two pairs of values share only if they differ in names of variables alone.

    None where an integer is the value of a tensor.
    """
    try:
        writer = _Writer()
        return f"{writer.value(left)} is {writer.value(right)}"
    except _Unnamed:
        return None


class _Writer:
    """Values as texts; variables are numbered as they come, with all that is known of them."""

    def __init__(self) -> None:
        self.numbers = dict[str, int]()
        self.kinds = dict[tuple[str, str, bool, int], int]()

    def value(self, of: Value) -> str:
        match of:
            case Leaf(name, coordinates, element):
                return f"{name}{of.is_truth}{self._point(coordinates)}{self._all(element)}"
            case Number(x):
                return self.poly(x) if isinstance(x, Poly) else str(x)
            case Call(fn, args):
                return f"{fn}({', '.join(map(self.value, args))})"
            case Fold(fn, over, body):
                return f"{fn}{{{','.join(map(self._var, over))}}}({self.value(body)})"
            case Recursion():
                head = f"{of.reverse} {self._var(of.step)} {self.poly(of.at)} {self.poly(of.size)}"
                return f"{{{head}}}({self.value(of.factor)}, {self.value(of.body)})"
            case Choice(test, yes, no):
                return f"({self.value(yes)} if {self._test(test)} else {self.value(no)})"
            case other:
                assert_never(other)

    def poly(self, p: Poly) -> str:
        return "+".join(f"{k}*{'.'.join(map(self._atom, m))}" for m, k in p.terms) or "0"

    def _all(self, of: tuple[Poly, ...]) -> str:
        return f"[{','.join(map(self.poly, of))}]"

    def _point(self, coordinates: tuple[tuple[str, Poly], ...]) -> str:
        return f"[{','.join(f'{d}={self.poly(p)}' for d, p in coordinates)}]"

    def _test(self, test: Test) -> str:
        if isinstance(test, Less):
            return f"{self.poly(test.a)}<{self.poly(test.b)}"
        return f"{test.name}{self._point(test.coordinates)}"

    def _atom(self, atom: Atom) -> str:
        match atom:
            case Var():
                return self._var(atom)
            case Apply(name, args):
                return f"{name}:{atom.is_size}:{atom.least}{self._all(args)}"
            case Quotient(of, by):
                return f"[{self.poly(of)}]/[{self.poly(by)}]"
            case Clip(of, most):
                return f"[{self.poly(of)}]^[{self.poly(most)}]"
            case Opaque():
                raise _Unnamed
            case other:
                assert_never(other)

    def _var(self, v: Var) -> str:
        size = "" if v.size is None else self.poly(v.size)
        number = self.numbers.setdefault(v.name, len(self.numbers))
        known = (v.name, size, v.is_size, v.least)
        if known in self.kinds:
            return f"v{number}.{self.kinds[known]}"
        self.kinds[known] = len(self.kinds)
        return f"v{number}.{self.kinds[known]}<{size}:{v.is_size}:{v.least}>"
