"""The second judge: the value of each element of a node at a point, by plain recursion.

`element(node, point, index)` is the definition of the operator, and nothing else. Inputs,
recurrences, draws and calls of Python are leaves: they have values inside their box only. Every
other expression has a value wherever its operands have one: `x[: t + 1].sum(0)` read at `t = -1`
is the sum of nothing. A tensor is what its elements are, so that of a choice on the point only the
chosen side is looked at.
"""

from __future__ import annotations

import itertools
import math
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import numpy.typing as npt

from ostinato.pdg import node as ops
from ostinato.pdg.condition import Compare, Cond, Every, Negation
from ostinato.pdg.host_functions import HostFunction
from ostinato.pdg.index import Dim, Expr, Extent, Extremum, FloorDiv, Mod, Slice, expr
from ostinato.pdg.node import Node, Pdg
from tests.property.operators import (
    COMBINE,
    MAPS,
    Number,
    before,
    converted,
    drawn,
    extreme_position,
    linear,
    number,
    order,
    scattered,
    shuffled,
    unit,
    words,
)

Point = tuple[int, ...]  # along the dims of a node's domain, in its order
Place = tuple[int, ...]  # an element of its value
Env = dict[Dim, int]
STACK_BYTES = 256 << 20  # for what C calls; the frames of Python itself are on the heap
FRAMES = 10_000_000
ORDERED = 8  # NumPy adds fewer numbers one after the other, and more in pairs


def points(lead: Sequence[int]) -> Iterator[Point]:
    return itertools.product(*map(range, lead))


class Undefined(Exception):
    """A value that the program does not define is needed."""


class Definition:
    """What every node of a program is, for given extents, inputs and seed.

    ``free`` gathers nodes that were rounded in an order that is this judge's own choice: float sums
    and products of eight elements or more, and matrix products.
    ``tied`` gathers those at which a larger or smaller one of 0.0 and -0.0 was taken.
    ``clamped`` gathers gathers without a window at which a position left its axis.
    """

    def __init__(
        self,
        pdg: Pdg,
        extents: Mapping[str, int],
        inputs: Mapping[str, npt.NDArray[Any]],
        seed: int = 0,
        hosts: Mapping[int, HostFunction] | None = None,
    ) -> None:
        self.pdg, self.extents, self.inputs = pdg, extents, inputs
        self.seed, self.hosts = seed, hosts or {}
        self.free: set[Node] = set()
        self.tied: set[Node] = set()
        self.clamped: set[Node] = set()
        self.known: dict[Node, dict[tuple[Point, Place], Number]] = {}
        self.rows: dict[tuple[Node, Point, Place], Sequence[Number]] = {}
        self.calls: dict[tuple[Node, Point], npt.NDArray[Any]] = {}
        self.box = {d: self.index(expr(d.extent), {}) for d in pdg.dims()}

    def index(self, e: Expr, env: Env) -> int:
        total = e.const
        for atom, k in e.terms:
            if isinstance(atom, Dim):
                value = env[atom]
            elif isinstance(atom, Extent):
                value = self.extents[atom.name]
            elif isinstance(atom, FloorDiv):
                value = self.index(atom.of, env) // atom.by
            elif isinstance(atom, Mod):
                value = self.index(atom.of, env) % atom.by
            elif isinstance(atom, Extremum):
                values = [self.index(x, env) for x in atom.of]
                value = min(values) if atom.kind == "min" else max(values)
            else:
                value = math.prod([self.index(x, env) for x in atom.of])
            total += k * value
        return total

    def holds(self, cond: Cond, env: Env) -> bool:
        if isinstance(cond, Compare):
            value = self.index(cond.of, env)
            return value >= 0 if cond.kind == "ge" else value == 0
        if isinstance(cond, Negation):
            return not self.holds(cond.of, env)
        found = [self.holds(c, env) for c in cond.of]
        return all(found) if isinstance(cond, Every) else any(found)

    def steps(self, at: Slice, env: Env) -> range:
        return range(self.index(at.lo, env), self.index(at.hi, env), at.step)

    def shape(self, node: Node, env: Env) -> Place:
        return tuple([max(0, self.index(size, env)) for size in node.shape])

    def outputs(self) -> dict[str, npt.NDArray[Any]]:
        with np.errstate(all="ignore"):
            return {name: self.everywhere(node) for name, node in self.pdg.outputs}

    def everywhere(self, node: Node) -> npt.NDArray[Any]:
        """All values of a node inside its box; of changing shapes, padded with zeros."""
        lead = tuple(self.box[d] for d in node.domain)
        found = {p: self.array(node, dict(zip(node.domain, p, strict=True))) for p in points(lead)}
        shapes = [value.shape for value in found.values()] or [(0,) * node.rank]
        most = tuple(max(column) for column in zip(*shapes, strict=True))
        out = np.zeros(lead + most, number(0, node.dtype).dtype)
        for point, value in found.items():
            inner: tuple[int | slice, ...] = (*point, *map(slice, value.shape))
            out[inner] = value
        return out

    def array(self, x: Node, env: Env) -> npt.NDArray[Any]:
        """A whole value at a point."""
        out = np.zeros(self.shape(x, env), number(0, x.dtype).dtype)
        for place in points(out.shape):
            out[place] = self.at(x, env, place)
        return out

    def at(self, node: Node, env: Env, place: Place) -> Number:
        return self.element(node, tuple([env[d] for d in node.domain]), place)

    def element(self, node: Node, point: Point, place: Place) -> Number:
        table = self.known.setdefault(node, {})
        found = table.get((point, place))
        if found is None:
            if (point, place) in table:
                raise Undefined(f"{node} at {point} needs itself")
            table[point, place] = None
            env = dict(zip(node.domain, point, strict=True))
            try:
                meaning = getattr(self, type(node.op).__name__.lower())
                found = meaning(node.op, node, env, place)
            except Undefined:
                del table[point, place]
                raise
            table[point, place] = found
        return found

    def needs_inside(self, node: Node, env: Env) -> Point:
        """The point of a leaf, which must lie inside its box."""
        if not all(0 <= env[d] < self.box[d] for d in node.domain):
            raise Undefined(f"{node} is read at {[env[d] for d in node.domain]}")
        return tuple([env[d] for d in node.domain])

    def input(self, op: ops.Input, node: Node, env: Env, place: Place) -> Number:
        return self.inputs[op.name][self.needs_inside(node, env) + place]

    def const(self, op: ops.Const, node: Node, env: Env, place: Place) -> Number:
        values, flat = op.values, _flat(place, self.shape(node, env))
        return number(values[0] if len(values) == 1 else values[flat], node.dtype)

    def affine(self, op: ops.Affine, node: Node, env: Env, place: Place) -> Number:
        return number(self.index(op.of, env), node.dtype)

    def iota(self, op: ops.Iota, node: Node, env: Env, place: Place) -> Number:
        return number(place[0], node.dtype)

    def rec(self, op: ops.Rec, node: Node, env: Env, place: Place) -> Number:
        self.needs_inside(node, env)
        for cond, right in self.pdg.equations[op.name].cases:
            if self.holds(cond, env):
                return self.at(right, env, place)
        raise Undefined(f"no equation of {node} is for {env}")

    def read(self, op: ops.Read, node: Node, env: Env, place: Place) -> Number:
        there, axis = dict(env), 0
        for d, at in op.at:
            if isinstance(at, Slice):
                there[d] = self.steps(at, env)[place[axis]]
                axis += 1
            else:
                there[d] = self.index(at, env)
        return self.at(node.args[0], there, place[axis:])

    def operands(self, node: Node, env: Env, place: Place) -> list[Number]:
        """An element of every operand; their axes of size 1 broadcast."""
        return [self.at(x, env, self.thin(x, env, place)) for x in node.args]

    def thin(self, x: Node, env: Env, place: Place) -> Place:
        return tuple([0 if n == 1 else k for k, n in zip(place, self.shape(x, env), strict=True)])

    def map(self, op: ops.Map, node: Node, env: Env, place: Place) -> Number:
        values = self.operands(node, env, place)
        fn = op.fn
        if fn == "cast":
            return converted(values[0], node.dtype)
        if fn in ("minimum", "maximum") and values[0] == 0 == values[1]:
            self.tied.add(node)
        return MAPS[fn](*values)

    def fold(self, node: Node, fn: str, row: list[Number]) -> Number:
        """One number after the other, beginning with the fold of nothing."""
        total = unit(fn, node.dtype)
        for x in row:
            if fn in ("max", "min") and x == 0 == total:
                self.tied.add(node)
            total = COMBINE[fn](total, x)
        if len(row) >= ORDERED and fn in ("sum", "prod") and node.dtype.startswith("float"):
            self.free.add(node)
        return total

    def reduce(self, op: ops.Reduce, node: Node, env: Env, place: Place) -> Number:
        (x,), fn, axes = node.args, op.fn, op.axes
        shape, kept = self.shape(x, env), iter(place)
        spans = [range(n) if k - len(shape) in axes else (next(kept),) for k, n in enumerate(shape)]
        row = [self.at(x, env, where) for where in itertools.product(*spans)]
        if fn in ("argmax", "argmin"):
            return number(extreme_position(fn, row), node.dtype)
        return self.fold(node, fn, row)

    def matmul(self, op: ops.Matmul, node: Node, env: Env, place: Place) -> Number:
        x, y = node.args
        *lead, m, n = place
        count = self.shape(x, env)[-1]
        products = [
            self.at(x, env, self.thin(x, env, (*lead, m, 0))[:-1] + (k,))
            * self.at(y, env, (*self.thin(y, env, (*lead, 0, n))[:-2], k, n))
            for k in range(count)
        ]
        if count > 1 and node.dtype.startswith("float"):
            self.free.add(node)
        return self.fold(node, "sum", products)

    def reshape(self, op: ops.Reshape, node: Node, env: Env, place: Place) -> Number:
        (x,), kept = node.args, node.rank - len(op.shape)
        flat = _flat(place[kept:], self.shape(node, env)[kept:])
        shape = self.shape(x, env)
        there = np.unravel_index(flat, shape[x.rank - op.rank :])
        return self.at(x, env, (*place[:kept], *map(int, there)))

    def transpose(self, op: ops.Transpose, node: Node, env: Env, place: Place) -> Number:
        there, perm = list(place), op.perm
        for k, p in enumerate(perm):
            there[p] = place[k - len(perm)]
        return self.at(node.args[0], env, tuple(there))

    def broadcast(self, op: ops.Broadcast, node: Node, env: Env, place: Place) -> Number:
        (x,) = node.args
        return self.at(x, env, self.thin(x, env, place))

    def concat(self, op: ops.Concat, node: Node, env: Env, place: Place) -> Number:
        axis, there = op.axis, list(place)
        for x in node.args:
            size = self.shape(x, env)[axis]
            if there[axis] < size:
                return self.at(x, env, tuple(there))
            there[axis] -= size
        raise Undefined(f"{node} has no element {place}")

    def part(self, op: ops.Part, node: Node, env: Env, place: Place) -> Number:
        (x,), at = node.args, op.at
        axis, there = x.rank + op.axis, list(place)
        if isinstance(at, Slice):
            there[axis] = self.steps(at, env)[there[axis]]
        else:
            there.insert(axis, self.index(at, env))
        if not 0 <= there[axis] < self.shape(x, env)[axis]:
            raise Undefined(f"{node} is read outside its axis")
        return self.at(x, env, tuple(there))

    def gather(self, op: ops.Gather, node: Node, env: Env, place: Place) -> Number:
        (x, places), axis = node.args, op.axis
        chosen = int(self.at(places, env, self.thin(places, env, place)))
        size = self.shape(x, env)[axis]
        if not 0 <= chosen < size:
            if op.window is not None:
                raise Undefined(f"{node} is read outside its window")
            self.clamped.add(node)
        if not size:
            raise Undefined(f"{node} is read on an empty axis")
        there = list(self.thin(x, env, place))
        there[axis] = min(max(chosen, 0), size - 1)
        return self.at(x, env, tuple(there))

    def case(self, op: ops.Case, node: Node, env: Env, place: Place) -> Number:
        chosen = node.args[0 if self.holds(op.cond, env) else 1]
        return self.at(chosen, env, self.thin(chosen, env, place))

    def random(self, op: ops.Random, node: Node, env: Env, place: Place) -> Number:
        flat = _flat(place, self.shape(node, env))
        block = words(self.seed, op.stream, list(self.needs_inside(node, env)), flat)
        return drawn(op.fn, node.dtype, block)

    def host(self, op: ops.Host, node: Node, env: Env, place: Place) -> Number:
        point = self.needs_inside(node, env)
        if (node, point) not in self.calls:
            args = node.args if op.effects == ops.PURE else node.args[1:]
            given = [self.array(x, env) for x in args]
            everything: dict[Dim | Extent, int] = dict(env.items())
            everything.update((Extent(name), n) for name, n in self.extents.items())
            self.calls[node, point] = self.hosts[op.call](given, env, everything)
        return number(self.calls[node, point][place], node.dtype)

    def along(self, op: ops.Along, node: Node, env: Env, place: Place) -> Number:
        axis = op.axis
        k, rest = (
            place[axis],
            tuple(0 if a - len(place) == axis else p for a, p in enumerate(place)),
        )
        key = (node, tuple(env[d] for d in node.domain), rest)
        if key not in self.rows:
            rows = [self.row(x, axis, env, rest) for x in node.args]
            self.rows[key] = self.whole(op, node, rows, max(0, self.index(op.size, env)))
        return number(self.rows[key][k], node.dtype)

    def row(self, x: Node, axis: int, env: Env, rest: Place) -> list[Number]:
        there, out = list(self.thin(x, env, rest)), list[Number]()
        for k in range(self.shape(x, env)[axis]):
            there[axis] = k
            out.append(self.at(x, env, tuple(there)))
        return out

    def whole(
        self, op: ops.Along, node: Node, rows: list[list[Number]], size: int
    ) -> Sequence[Number]:
        """A function of whole rows."""
        fn, first = op.fn, rows[0]
        if fn in ("sum", "prod", "max", "min", "logsumexp"):
            if fn in ("max", "min") and any(x == 0 for x in first):
                self.tied.add(node)
            nothing = unit("max" if fn == "logsumexp" else fn, node.dtype)
            return list(itertools.accumulate([nothing, *first], COMBINE[fn]))[1:]
        if fn == "linear":
            return linear(first, rows[1])
        if fn == "argsort":
            return order(first)
        if fn == "top":
            return [len(first) - 1 - k for k in reversed(order(first[::-1]))][:size]
        if fn == "shuffle":
            return shuffled(first)
        if fn == "scatter":
            sums = [number(0, node.dtype)] * size
            scattered(first, rows[1], sums)
            return sums
        left = {"searchleft": True, "searchright": False}[fn]
        return [sum([before(y, x) if left else not before(x, y) for y in first]) for x in rows[1]]


def _flat(place: Place, shape: Place) -> int:
    """The number of an element in row-major order."""
    out = 0
    for k, n in zip(place, shape, strict=True):
        out = out * n + k
    return out


def define(run: Definition) -> tuple[dict[str, npt.NDArray[Any]], Definition]:
    """Every output by its definition, and what was seen on the way.

    Errors: Undefined.
    """
    size, limit = threading.stack_size(STACK_BYTES), sys.getrecursionlimit()
    sys.setrecursionlimit(FRAMES)
    try:  # a thread whose stack is as deep as values depend on each other
        with ThreadPoolExecutor(1) as pool:
            return pool.submit(run.outputs).result(), run
    finally:
        threading.stack_size(size)
        sys.setrecursionlimit(limit)
