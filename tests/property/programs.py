"""Recurrent programs that hypothesis invents, written through the public API.

A drawn program is a `Recipe`: a short list of steps that is replayed into tensors, so that a
failure prints as the recipe and can be kept as a test.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from hypothesis import strategies as st

import ostinato as ot
from ostinato.dims import Dimension, IndexExpression
from ostinato.tensor import Tensor

NAMES = ("b", "s", "t")
UNARY = ("tanh", "sin", "abs", "neg", "sigmoid", "square", "relu")
BINARY = ("add", "sub", "mul", "minimum", "maximum", "where")
POINTS = ("back", "ahead", "first", "last", "mirror", "half", "cycle", "twice")
SLICES = ("prefix", "suffix", "window", "future", "full", "strict")
FOLDS = ("sum", "mean", "max", "min", "discounted")
RECURRENCES = ("forward", "backward", "cases", "stride", "tail", "pair")


@dataclass(frozen=True)
class Step:
    """One operator: what, on which tensors of the pool, along which dim, with which constant."""

    op: str
    a: int = 0
    b: int = 0
    dim: int = 0
    c: int = 1
    fold: str = "sum"


@dataclass(frozen=True)
class Recipe:
    """Inputs (the dims each depends on, and its shape), steps, and how many tensors come out."""

    inputs: tuple[tuple[tuple[int, ...], tuple[int, ...]], ...]
    steps: tuple[Step, ...]
    outputs: int
    dims: int


def _steps() -> st.SearchStrategy[Step]:
    ops = UNARY + BINARY + POINTS + SLICES * 2 + RECURRENCES * 2 + (
        "matmul", "softmax", "concat", "index", "row_sum", "draw", "cumsum", "one_hot", "take",
    )  # fmt: skip
    small = st.integers(0, 7)
    return st.builds(
        Step, op=st.sampled_from(ops), a=small, b=small, dim=st.integers(0, 2),
        c=st.integers(1, 3), fold=st.sampled_from(FOLDS),
    )  # fmt: skip


@st.composite
def recipes(draw: st.DrawFn, most_steps: int = 10) -> Recipe:
    """Draw a recipe over one to three dims."""
    dims = draw(st.integers(1, 3))
    over = st.lists(st.integers(0, dims - 1), unique=True, min_size=1).map(
        lambda chosen: tuple(sorted(chosen))
    )
    shape = st.sampled_from(((), (3,), (2, 3)))
    inputs = draw(st.lists(st.tuples(over, shape), min_size=1, max_size=3))
    steps = draw(st.lists(_steps(), min_size=min(3, most_steps), max_size=most_steps))
    return Recipe(tuple(inputs), tuple(steps), draw(st.integers(1, 2)), dims)


def _unary(op: str, x: Tensor) -> Tensor:
    match op:
        case "neg":
            return -x
        case "square":
            return x * x * 0.5
        case "abs":
            return ot.abs(x)
        case "relu":
            return ot.relu(x - 0.25)
        case _:
            return {"tanh": ot.tanh, "sin": ot.sin, "sigmoid": ot.sigmoid}[op](x)


def _binary(op: str, x: Tensor, y: Tensor) -> Tensor:
    match op:
        case "add":
            return x + y
        case "sub":
            return x - y * 0.5
        case "mul":
            return ot.tanh(x) * y
        case "where":
            return ot.where(x > 0.1, y, x * 0.3)
        case _:
            return (ot.minimum if op == "minimum" else ot.maximum)(x, y)


def point(op: str, d: Dimension, c: int) -> IndexExpression:
    """An index expression that stays inside the box for every extent."""
    last = d.size - 1
    match op:
        case "back":
            return ot.maximum(d - c, 0)
        case "ahead":
            return ot.minimum(d + c, last)
        case "first":
            return d * 0
        case "last":
            return last
        case "mirror":
            return last - d
        case "half":
            return d // (c + 1)
        case "cycle":
            return d % c
        case _:
            return ot.minimum(d * 2, last)


def span(op: str, d: Dimension, c: int) -> slice:
    """A slice that stays inside the box; "strict" may be empty."""
    match op:
        case "prefix":
            return slice(None, d + 1)
        case "suffix":
            return slice(d, None)
        case "window":
            return slice(ot.maximum(d - c, 0), d + 1)
        case "future":
            return slice(d, ot.minimum(d + c + 1, d.size))
        case "strict":
            return slice(None, d)
        case _:
            return slice(None, None)


def place(x: Tensor, d: Dimension, index: IndexExpression | slice) -> Tensor:
    """Read ``x`` with one of its dims at an index; the others stay at this point."""
    return x.at(**{d.name: index})


def folded(x: Tensor, op: str, fold: str) -> Tensor:
    """Fold the leading axis; an empty slice has a sum only."""
    if fold == "discounted":
        return ot.discounted_sum(x, 0.9)
    if op == "strict" or fold == "sum":
        return x.sum(0) * 0.25
    return {"mean": x.mean, "max": x.max, "min": x.min}[fold](0)


def _recurrence(s: Step, x: Tensor, d: Dimension, over: tuple[Dimension, ...], name: str) -> Tensor:
    c = s.c
    r = ot.recurrent(name, shape=x.shape, dtype=x.dtype, over=over)

    def at(index: IndexExpression | int) -> tuple[IndexExpression | int, ...]:
        return tuple(index if e.name == d.name else e for e in over)

    match s.op:
        case "forward":
            r[at(0)] = place(x, d, d * 0) * 0.5
            r[at(d + 1)] = r * 0.5 + x
        case "backward":
            r[at(d.size - 1)] = place(x, d, d.size - 1)
            r[at(d)] = place(r, d, d + 1) * 0.7 + x
        case "cases":
            r[d % (c + 1) == 0] = x * 0.5
            r[True] = ot.tanh(place(r, d, d - 1)) + x
        case "stride":
            r[d < c] = x
            r[True] = place(r, d, d - c) * 0.5 + x
        case "tail":
            r[at(0)] = place(x, d, d * 0)
            r[at(d)] = ot.sin(place(r, d, d - 1)) * ot.tanh(x)
        case _:
            q = ot.recurrent(name + "q", shape=x.shape, dtype=x.dtype, over=over)
            r[at(0)], q[at(0)] = place(x, d, d * 0), place(x, d, d * 0) * 0.1
            r[at(d + 1)], q[at(d + 1)] = r * 0.5 + q, ot.tanh(r) - q * 0.25 + x
            return r + q
    return r


class Replay:
    """Turn a recipe into tensors; a step that does not fit its operands is skipped."""

    def __init__(self, recipe: Recipe, dtype: str = "float32") -> None:
        self.dtype = dtype
        made = ot.dims(" ".join(NAMES[: recipe.dims]))
        self.dims = (made,) if recipe.dims == 1 else tuple(made)
        self.pool: list[Tensor] = [
            ot.input(f"x{k}", shape=shape, dtype=dtype, over=tuple(self.dims[d] for d in over))
            for k, (over, shape) in enumerate(recipe.inputs)
        ]
        self.inputs = list(self.pool)
        for number, step in enumerate(recipe.steps):
            made_now = self.step(step, number)
            if made_now is not None:
                self.pool.append(made_now)
        self.outputs = self.pool[-recipe.outputs :]

    def step(self, s: Step, number: int) -> Tensor | None:
        x, y = (self.pool[k % len(self.pool)] for k in (s.a, s.b))
        d = self.dims[s.dim % len(self.dims)]
        named = [e.name for e in x.node.domain]
        if s.op in UNARY:
            return _unary(s.op, x)
        if s.op in BINARY:
            return _binary(s.op, x, y) if _fit(x, y) else None
        if s.op == "index":
            return x + ot.index(d).cast(self.dtype) * 0.125
        if s.op == "draw":
            return x + ot.random.uniform(over=tuple(self.dims), dtype=self.dtype)
        if d.name in named:
            if s.op in POINTS:
                return place(x, d, point(s.op, d, s.c))
            if s.op in SLICES:
                return folded(place(x, d, span(s.op, d, s.c)), s.op, s.fold)
            if s.op in RECURRENCES:
                over = tuple(e for e in self.dims if e.name in named)
                return _recurrence(s, x, d, over, f"r{number}")
        return self.spatial(s.op, x, y) if len(x.shape) else None

    def spatial(self, op: str, x: Tensor, y: Tensor) -> Tensor | None:
        match op:
            case "matmul" if len(x.shape) == 2:
                return ot.matmul(x, x.transpose()) * 0.25 if x.shape == (2, 3) else None
            case "softmax":
                return ot.softmax(x, axis=-1)
            case "cumsum":
                return ot.cumsum(x, axis=-1) * 0.5
            case "row_sum":
                return x.sum(-1)
            case "concat" if x.shape == y.shape == (3,):
                return ot.concatenate([x, y * 0.5], axis=0).reshape(2, 3).sum(0)
            case "take" if x.shape == (3,):
                return ot.take(x, (x.sum() > 0).cast("int32") + 1, axis=-1)
            case "one_hot" if x.shape == (3,):
                return x * ot.one_hot((x.sum() > 0).cast("int32"), 3, dtype=self.dtype)
            case _:
                return None


def _fit(x: Tensor, y: Tensor) -> bool:
    longest = min(len(x.shape), len(y.shape))
    return all(
        a == c or 1 in (a, c)
        for a, c in zip(x.shape[len(x.shape) - longest :], y.shape[len(y.shape) - longest :],
                        strict=True)
    )  # fmt: skip


def arguments(replay: Replay, extents: dict[str, int], seed: int) -> dict[str, Any]:
    """Seeded values for every input, and the extents."""
    rng = np.random.default_rng(seed)
    out: dict[str, Any] = {name: n for name, n in extents.items()}
    for k, x in enumerate(replay.inputs):
        lead = [extents[d.name.upper()] for d in x.node.domain]
        shape = (*lead, *(int(str(n)) for n in x.shape))
        values: npt.NDArray[np.float64] = rng.uniform(-1, 1, shape)
        out[f"x{k}"] = values.astype(replay.dtype)
    return out
