"""Systems written by hand: dims and axes by name, values with operators."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from ostinato.codegen.ir.system import (
    Axis,
    Call,
    Choice,
    Draw,
    Kind,
    Literal_,
    Load,
    Pick,
    Position,
    Statement,
    System,
    Value,
)
from ostinato.pdg.axis_functions import AXIS_FUNCTIONS
from ostinato.pdg.condition import ALWAYS, Cond
from ostinato.pdg.index import Dim, Expr, ExprLike, expr
from ostinato.pdg.node import Dtype


@dataclass(frozen=True)
class V:
    """A value with operators."""

    of: Value

    @property
    def dtype(self) -> Dtype:
        return self.of.dtype

    def __add__(self, other: V | float) -> V:
        return call("add", self, other)

    def __sub__(self, other: V | float) -> V:
        return call("sub", self, other)

    def __mul__(self, other: V | float) -> V:
        return call("mul", self, other)

    def __truediv__(self, other: V | float) -> V:
        return call("div", self, other)


def lift(value: V | float, dtype: Dtype = "float64") -> V:
    return value if isinstance(value, V) else V(Literal_(value, dtype))


def call(fn: str, *args: V | float, dtype: Dtype | None = None) -> V:
    first = next(a for a in args if isinstance(a, V))
    values = tuple(lift(a, first.dtype).of for a in args)
    compare = fn in ("lt", "gt", "eq")
    return V(Call(fn, values, dtype or ("bool" if compare else values[-1].dtype)))


def choose(cond: Cond, then: V | float, other: V | float) -> V:
    a, b = lift(then).of, lift(other).of
    return V(Choice(cond, a, b, a.dtype))


def number(of: ExprLike) -> V:
    return V(Call("cast", (Position(expr(of)),), "float64"))


Cases = Sequence[tuple[Cond, "V | float"]]


@dataclass
class Builder:
    """Statements in order; ``d`` and ``a`` hold the dims and axis indices by name."""

    dims: str
    axes: Mapping[str, ExprLike]
    hints: Mapping[str, int] = field(default_factory=dict[str, int])
    statements: dict[str, Statement] = field(default_factory=dict[str, Statement])
    outputs: list[str] = field(default_factory=list[str])
    arrays: dict[str, Any] = field(default_factory=dict[str, Any])

    def __post_init__(self) -> None:
        self.d = {n: Dim(n) for n in self.dims.split()}
        self.a = {n: Dim(n) for n in self.axes}

    def axis(self, name: str) -> Axis:
        size = expr(self.axes[name])
        return Axis(self.a[name], size, size)

    def add(
        self,
        name: str,
        dims: str,
        axes: str,
        clauses: V | float | Cases,
        kind: Kind = "map",
        over: str = "",
        fold: str = "sum",
        lanes: str | None = None,
        dtype: Dtype = "float64",
    ) -> str:
        """Add a statement; ``over`` are reduced dims and axes, ``lanes`` defaults to ``b``."""
        pairs = [(ALWAYS, clauses)] if isinstance(clauses, V | float | int) else list(clauses)
        own = tuple(self.d[n] for n in self.d if n in dims.split())
        wanted = "b" if lanes is None else lanes
        self.statements[name] = Statement(
            name,
            "fold" if over and kind == "map" else kind,
            own,
            tuple(self.axis(n) for n in axes.split()),
            tuple((c, lift(v, dtype).of) for c, v in pairs),
            dtype,
            frozenset(self.d[n] for n in wanted.split() if n in dims.split()),
            frozenset({**self.d, **self.a}[n] for n in over.split()),
            fold if over else "",
            f"train.py:{len(self.statements) + 1}",
            name,
        )
        return name

    def sweep(
        self,
        name: str,
        dims: str,
        axes: str,
        fn: str,
        *operands: V,
        along: str = "",
        over: str = "",
        lanes: str | None = None,
    ) -> str:
        """Add a function of whole axes: result axis ``along``, operands walked by ``over``."""
        dtype = "int32" if AXIS_FUNCTIONS[fn].positions else operands[0].dtype
        body = V(Call(fn, tuple(x.of for x in operands), dtype))
        self.add(name, dims, f"{axes} {over}", body, "along", over, fn, lanes, dtype)
        axis = self.a[along] if along else None
        self.statements[name] = replace(self.statements[name], fold=fn, along=axis)
        return name

    def input(self, name: str, dims: str, axes: str, sizes: Mapping[str, int]) -> str:
        """Add an argument with reproducible values; ``sizes`` gives the extents of its dims."""
        self.add(name, dims, axes, [], "input")
        shape = [sizes[n.upper()] for n in dims.split()]
        shape += [expr(self.axes[n]).as_int() for n in axes.split()]
        rng = np.random.default_rng(len(self.arrays))
        self.arrays[name] = rng.standard_normal(shape) * 0.5
        return name

    def __call__(self, name: str, *axes: str | ExprLike | V, **at: ExprLike) -> V:
        """Read a tensor: at this point, or with some dims and axes elsewhere."""
        s = self.statements[name]
        dims = tuple(expr(at.get(d.name, d)) for d in s.result_dims)
        given: Sequence[Any] = axes or [a.index for a in s.result_axes]
        inner: list[Expr] = []
        picks: list[Pick] = []
        for axis, a in zip(s.result_axes, given, strict=True):
            if isinstance(a, V):
                picks.append(Pick(Axis(Dim("pick"), axis.size, axis.pad), a.of))
                a = picks[-1].axis.index
            inner.append(expr(self.a[a] if isinstance(a, str) else a))
        return V(Load(name, dims, tuple(inner), s.dtype, picks=tuple(picks)))

    def draw(self, stream: int, dims: str, element: ExprLike = 0) -> V:
        point = tuple(expr(self.d[n]) for n in dims.split())
        return V(Draw("uniform", stream, point, expr(element), "float64"))

    def system(self) -> System:
        return System(
            self.statements,
            {n: n for n in self.outputs},
            {n: n for n in self.arrays},
            hints=dict(self.hints),
        )
