"""A system evaluated from its definition: one element at a time, remembered."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping
from functools import reduce
from typing import Any

import numpy as np
import numpy.typing as npt

from ostinato.codegen.ir.system import (
    Call,
    Choice,
    Draw,
    Literal_,
    Load,
    Position,
    Statement,
    System,
    Value,
)
from ostinato.codegen.systems.axes import operands, walked
from ostinato.pdg.axis_functions import AXIS_FUNCTIONS, along_axis
from ostinato.pdg.condition import holds
from ostinato.pdg.functions import FUNCTIONS, fold_unit
from ostinato.pdg.index import Dim, Extent, evaluate

Point = dict[Dim | Extent, int]
Number = Any
Arrays = Mapping[str, npt.NDArray[Any]]
PAIRS = {
    "sum": np.add,
    "prod": np.multiply,
    "max": np.maximum,
    "min": np.minimum,
    "any": np.logical_or,
    "all": np.logical_and,
}


def drawn(draw: Draw, point: Point) -> float:
    """A number that depends on everything a draw is keyed by."""
    key = [draw.stream, *(evaluate(e, point) for e in draw.point), evaluate(draw.element, point)]
    return math.sin(sum((k + 1) * (7.3 + 3.1 * n) for n, k in enumerate(key))) * 0.5


def apply(call: Call, args: list[Number]) -> Number:
    """An elementwise function on scalars."""
    if call.fn == "cast":
        return np.dtype(call.dtype).type(args[0])
    with np.errstate(all="ignore"):
        return FUNCTIONS[call.fn].numpy(*(np.asarray(a) for a in args)).item()


def folded(fn: str, dtype: Any, values: list[Number]) -> Number:
    """A fold in ascending order; arg folds give the first position."""
    if fn.startswith("arg"):
        best = np.argmax if fn == "argmax" else np.argmin
        return int(best(values))
    return reduce(lambda a, b: PAIRS[fn](a, b).item(), values, fold_unit(fn, dtype))


def picked(load: Load, point: Point, value: Callable[[Value, Point], Number]) -> Point:
    """The point with the computed indices of a load, each clamped to its axis."""
    here = dict(point)
    for pick in load.picks:
        found, last = value(pick.at, here), evaluate(pick.axis.size, here) - 1
        here[pick.axis.index] = 0 if found != found else max(min(int(found), last), 0)
    return here


def whole_row(fn: str, rows: list[npt.NDArray[Any]], size: int) -> npt.NDArray[Any]:
    """A function of whole axes; an operand of one value repeats it where all are equally long."""
    if AXIS_FUNCTIONS[fn].equal:
        longest = max(size if fn != "scatter" else 1, *map(len, rows))
        rows = [np.broadcast_to(row, longest) for row in rows]
    with np.errstate(all="ignore"):
        return along_axis(fn, rows, -1, size)


class Judge:
    """Values of statements at points, straight from the equations."""

    def __init__(self, system: System, extents: Mapping[str, int], inputs: Arrays) -> None:
        self.system, self.inputs = system, inputs
        self.base: Point = {Extent(n): k for n, k in extents.items()}
        self.known: dict[tuple[str, tuple[int, ...]], Number] = {}
        self.arguments = {tensor: name for name, tensor in system.inputs.items()}

    def output(self, name: str) -> npt.NDArray[Any]:
        s = self.system.statements[self.system.outputs[name]]
        shape = [evaluate(d.extent, self.base) for d in s.result_dims]
        shape += [evaluate(a.pad, self.base) for a in s.result_axes]
        out = np.zeros(shape)
        for at in itertools.product(*map(range, shape)):
            sizes = dict(self.base) | dict(zip(s.result_dims, at, strict=False))
            inner = at[len(s.result_dims) :]
            for a, k in zip(s.result_axes, inner, strict=True):
                sizes[a.index] = k
            if all(sizes[a.index] < evaluate(a.size, sizes) for a in s.result_axes):
                out[at] = self.at(s.name, at)
        return out

    def at(self, name: str, at: tuple[int, ...]) -> Number:
        if name in self.arguments:
            return self.inputs[self.arguments[name]][at]
        if (name, at) not in self.known:
            s = self.system.statements[name]
            order = (*s.result_dims, *(a.index for a in s.result_axes))
            point = self.base | dict(zip(order, at, strict=True))
            self.known[name, at] = self.statement(s, point)
        return self.known[name, at]

    def statement(self, s: Statement, point: Point) -> Number:
        if s.kind == "map":
            return self.clauses(s, point)
        if s.kind == "along":
            return self.row(s, point)[point[s.along] if s.along else 0]
        found: list[Number] = []
        self.collect(s, [d for d in s.dims if d in s.reduced], point, found)
        return folded(s.fold, s.dtype, found)

    def row(self, s: Statement, point: Point) -> npt.NDArray[Any]:
        """A row of a function of whole axes."""
        rows: list[npt.NDArray[Any]] = []
        for x in operands(s):
            axis = walked(s, x)
            size = evaluate(axis.size, point) if axis else 1
            places = [point | ({axis.index: k} if axis else {}) for k in range(size)]
            rows.append(np.array([self.value(x, here) for here in places], x.dtype))
        own = next((a for a in s.axes if a.index is s.along), None)
        return whole_row(s.fold, rows, evaluate(own.size, point) if own else 1)

    def collect(self, s: Statement, dims: list[Dim], point: Point, out: list[Number]) -> None:
        """The values at all reduced indices, dims outermost, each axis inside those it needs."""
        if dims:
            for k in range(evaluate(dims[0].extent, point)):
                self.collect(s, dims[1:], point | {dims[0]: k}, out)
            return
        left = [a for a in s.axes if a.index in s.reduced and a.index not in point]
        if not left:
            out.append(self.clauses(s, point))
            return
        for k in range(evaluate(left[0].size, point)):
            self.collect(s, [], point | {left[0].index: k}, out)

    def clauses(self, s: Statement, point: Point) -> Number:
        for cond, value in s.clauses:
            if holds(cond, point):
                return self.value(value, point)
        return math.nan

    def value(self, value: Value, point: Point) -> Number:
        match value:
            case Literal_(of):
                return of
            case Position(of):
                return evaluate(of, point)
            case Draw():
                return drawn(value, point)
            case Call(_, args):
                return apply(value, [self.value(a, point) for a in args])
            case Choice(cond, then, other):
                return self.value(then if holds(cond, point) else other, point)
            case Load(tensor, dims, axes):
                here = picked(value, point, self.value)
                return self.at(tensor, tuple(evaluate(e, here) for e in (*dims, *axes)))
