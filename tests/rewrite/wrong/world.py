"""One example of a rule: what its letters stand for, and the value of a term there.

Plain recursion over terms, written from the list of operators in `ostinato.rewrite.engine.language`
and the tables of functions; it shares no code with the prover, the engine or the interpreter. A
running fold has values in the box of its dimension only, as an array in memory has: a read outside
of it, or outside an axis, has no value (`Missing`).
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from ostinato.pdg.functions import FUNCTIONS, fold_unit
from ostinato.pdg.node import Dtype
from ostinato.rewrite.relations.sexpr import Tree
from ostinato.rewrite.terms.signature import SIGNATURE

Array = npt.NDArray[Any]
Point = Mapping[str, int]
Shape = tuple[int, ...]
Ranges = Mapping[str, Callable[[Point], range]]
Indices = Mapping[str, Callable[[Point], int]]
Conditions = Mapping[str, Callable[[Point], bool]]
JOIN: dict[str, Callable[[Array, Array], Array]] = {
    "sum": np.add,
    "prod": np.multiply,
    "max": np.maximum,
    "min": np.minimum,
    "any": np.logical_or,
    "all": np.logical_and,
}


class Missing(Exception):
    """A read outside of what exists."""


def array(value: object, dtype: str = "") -> Array:
    """Numbers as float32, integers as int32, truth values as bool, unless the dtype is named."""
    found = np.asarray(value, dtype or None)
    by_kind = {"f": "float32", "i": "int32", "b": "bool"}
    return (
        found if dtype or isinstance(value, np.ndarray) else found.astype(by_kind[found.dtype.kind])
    )


def along(
    dim: str, *values: object, outside: object = 7.0, dtype: str = ""
) -> Callable[[Point], Array]:
    """A tensor with one value per step of a dimension, and another one outside of its box."""

    def at(point: Point) -> Array:
        step = point[dim]
        inside = 0 <= step < len(values)
        value = values[step] if inside else np.full(np.shape(cast(Any, values[0])), outside)
        found = array(value, dtype)
        return found if inside else found.astype(array(values[0], dtype).dtype)

    return at


@dataclass(frozen=True)
class World:
    """What the letters of a rule stand for; the sides are compared at ``point``.

    Tensors, ranges, indices and conditions may be functions of the point; a dimension of ``same``
    is another name of one that ``extents`` gives.
    """

    point: Point = field(default_factory=dict[str, int])
    extents: Mapping[str, int] = field(default_factory=dict[str, int])
    tensors: Mapping[str, object] = field(default_factory=dict[str, object])
    ranges: Ranges = field(default_factory=dict[str, "Callable[[Point], range]"])
    indices: Indices = field(default_factory=dict[str, "Callable[[Point], int]"])
    conditions: Conditions = field(default_factory=dict[str, "Callable[[Point], bool]"])
    numbers: dict[str, int] = field(default_factory=dict[str, int])
    texts: Mapping[str, str] = field(default_factory=dict[str, str])
    shapes: dict[str, Shape] = field(default_factory=dict[str, Shape])
    terms: dict[str, Tree] = field(default_factory=dict[str, Tree])
    same: Mapping[str, str] = field(default_factory=dict[str, str])
    recurrences: Mapping[str, object] = field(default_factory=dict[str, object])

    def dim(self, letter: Tree) -> str:
        name = str(letter)
        return self.same.get(name, name)

    def bit(self, letter: str) -> int:
        return 1 << list(self.extents).index(self.dim(letter))

    def box(self) -> Iterator[Point]:
        """Every point inside the box, and around it none."""
        points: list[dict[str, int]] = [{}]
        for dim, extent in self.extents.items():
            points = [{**p, dim: k} for p in points for k in range(extent)]
        yield from points

    def index(self, tree: Tree, point: Point) -> int:
        return tree if isinstance(tree, int) else self.indices[str(tree)](point)

    # ------------------------------------------------------------------ numbers and shapes

    def number(self, tree: Tree) -> int:
        """Arithmetic on axis numbers, masks and bits of dimensions."""
        if isinstance(tree, int):
            return tree
        if isinstance(tree, str):
            return self.numbers[tree] if tree in self.numbers else self.bit(tree)
        op, *rest = tree
        if op in ("rank", "hlen"):
            return len(self.shape(rest[0] if op == "hlen" else ("shape", rest[0])))
        values = [self.number(part) for part in rest]
        match op, values:
            case "+", _:
                return sum(values)
            case "-", [a, b]:
                return a - b
            case "&", [a, b]:
                return a & b
            case "|", [a, b]:
                return a | b
            case "<<", [a, b]:
                return a << b
            case ">>", [a, b]:
                return a >> b
            case "not-i64", [a]:
                return ~a
            case _:
                raise AssertionError(f"no number: {tree}")

    def shape(self, tree: Tree) -> Shape:
        match tree:
            case str():
                return self.shapes[tree]
            case ("nil",):
                return ()
            case ("cons", head, tail):
                return (self.size(head), *self.shape(tail))
            case ("shape", term):
                return tuple(self.value(term, self.point).shape)
            case _:
                raise AssertionError(f"no shape: {tree}")

    def size(self, tree: Tree) -> int:
        match tree:
            case int():
                return tree
            case str():
                return self.numbers[tree]
            case ("size", inner):
                return self.size(inner)
            case ("times", a, b):
                return self.size(a) * self.size(b)
            case ("length", name):
                return len(self.ranges[str(name)](self.point))
            case _:
                raise AssertionError(f"no size: {tree}")

    # ------------------------------------------------------------------ terms

    def value(self, tree: Tree, point: Point) -> Array:
        """The value of a term at a point.

        Errors: Missing.
        """
        if isinstance(tree, str):
            if tree in self.terms:
                return self.value(self.terms[tree], point)
            found = self.tensors[tree]
            return array(found(point) if callable(found) else found)
        assert isinstance(tree, tuple), f"no term: {tree}"
        op, *fields = tree
        match str(op):
            case "leaf":
                return self.value(fields[0], point)
            case "rec":
                rec = self.recurrences[str(fields[0])]
                return array(rec(point) if callable(rec) else rec)
            case "case":
                holds = self.conditions[str(fields[0])](point)
                return self.value(fields[1] if holds else fields[2], point)
            case "at" | "sl" | "running" | "lin":
                return self._of_time(str(op), fields, point)
            case _:
                letters = SIGNATURE[str(op)]
                plain = [f for f, letter in zip(fields, letters, strict=True) if letter != "T"]
                terms = [f for f, letter in zip(fields, letters, strict=True) if letter == "T"]
                return self._of_space(str(op), plain, [self.value(t, point) for t in terms], point)

    def _of_time(self, op: str, fields: Sequence[Tree], point: Point) -> Array:
        match op, fields:
            case "at", [d, i, x]:
                return self.value(x, {**point, self.dim(d): self.index(i, point)})
            case "sl", [d, s, x]:
                steps = self.ranges[str(s)](point)
                rows = [self.value(x, {**point, self.dim(d): k}) for k in steps]
                like = self.value(x, point) if not rows else rows[0]
                return np.stack(rows) if rows else np.zeros((0, *like.shape), like.dtype)
            case "running", [fn, d, flag, x]:
                rows = self._steps(self.dim(d), bool(self.number(flag)), x, point)
                name, like = self.text(fn), rows[0]
                unit = np.full(
                    like.shape, fold_unit(name, cast(Dtype, like.dtype.name)), like.dtype
                )
                return functools.reduce(JOIN[name], rows, unit)
            case _, [d, flag, g, a]:
                dim, reverse = self.dim(d), bool(self.number(flag))
                factors = self._steps(dim, reverse, g, point)
                found, *later = self._steps(dim, reverse, a, point)
                for factor, added in zip(factors[1:], later, strict=True):
                    found = np.asarray(added + factor * found)
                return np.broadcast_to(found, np.broadcast_shapes(found.shape, factors[0].shape))
            case _:
                raise AssertionError(f"no term: {op}")

    def _steps(self, dim: str, reverse: bool, x: Tree, point: Point) -> list[Array]:
        """The values of the steps up to the point, or from the last one back to it."""
        here, extent = point[dim], self.extents[dim]
        if not 0 <= here < extent:
            raise Missing(f"{dim} = {here}")
        steps = range(extent - 1, here - 1, -1) if reverse else range(here + 1)
        return [self.value(x, {**point, dim: k}) for k in steps]

    def _of_space(
        self, op: str, plain: Sequence[Tree], args: Sequence[Array], point: Point
    ) -> Array:
        match op, plain, args:
            case (("map1" | "map2" | "map3"), [fn], _):
                return applied(self.text(fn), args)
            case "red", [fn, m], [x]:
                return folded(self.text(fn), x, self.number(m))
            case "mm", _, [x, y]:
                return np.asarray(np.matmul(x, y))
            case "tr", _, [x]:
                return x.swapaxes(-1, -2)
            case "mv", [k, p], [x]:
                return np.moveaxis(x, -self.number(k), -self.number(p))
            case "reshape", [r, h], [x]:
                kept = x.shape[: x.ndim - self.number(r)]
                return x.reshape(kept + self.shape(h))
            case "bcast", [h], [x]:
                shape = self.shape(h)
                return np.broadcast_to(x, x.shape[: x.ndim - len(shape)] + shape)
            case "cat", [k], [x, y]:
                return np.concatenate([x, y], -self.number(k))
            case (("part" | "cut"), [k, i], [x]):
                places = self._places(op, i, point)
                return element(x, self.number(k), places)
            case "gather", [k], [x, y]:
                places = np.clip(y.astype("int64"), 0, x.shape[-self.number(k)] - 1)
                return np.take_along_axis(x, places, -self.number(k))
            case _:
                raise AssertionError(f"no term: {op}")

    def _places(self, op: str, name: Tree, point: Point) -> int | list[int]:
        return self.index(name, point) if op == "part" else list(self.ranges[str(name)](point))

    def text(self, tree: Tree) -> str:
        word = str(tree)
        return word.strip('"') if word.startswith('"') else self.texts[word]


def element(x: Array, axis: int, places: int | list[int]) -> Array:
    """One element, or several, of axis ``-axis``.

    Errors: Missing.
    """
    if any(not 0 <= k < x.shape[-axis] for k in np.atleast_1d(places)):
        raise Missing(f"element {places} of {x.shape[-axis]}")
    return np.take(x, places, -axis)


def applied(fn: str, args: Sequence[Array]) -> Array:
    """An elementwise function, in the type of its operands."""
    name, _, dtype = fn.partition(":")
    if name == "cast":
        return cast_to(args[0], dtype)
    return np.asarray(FUNCTIONS[name].numpy(*args))


def cast_to(x: Array, dtype: str) -> Array:
    """Floats become integers by truncation and saturation, NaN becomes 0."""
    if x.dtype.kind != "f" or not dtype.startswith("int"):
        return x.astype(dtype)
    info = np.iinfo(dtype)
    whole = [0 if np.isnan(v) else max(info.min, min(info.max, v)) for v in x.ravel().tolist()]
    return np.asarray([int(v) for v in whole], dtype).reshape(x.shape)


def folded(fn: str, x: Array, mask: int) -> Array:
    """A fold over the axes whose bits are set, one element after another."""
    axes = [x.ndim - k - 1 for k in range(x.ndim) if mask >> k & 1]
    flat = np.moveaxis(x, sorted(axes), range(len(axes)))
    flat = flat.reshape(-1, *flat.shape[len(axes) :])
    if fn.startswith("arg"):
        return np.asarray(getattr(np, fn)(flat, axis=0), "int32")
    unit = np.full(flat.shape[1:], fold_unit(fn, cast(Dtype, x.dtype.name)), x.dtype)
    return functools.reduce(JOIN[fn], flat, unit)
