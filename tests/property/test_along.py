"""Functions of whole axes inside programs that hypothesis invents: compiled equals interpreted."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import ostinato as ot
from ostinato.language.dims import Dimension
from ostinato.language.tensor import Tensor

BUDGET = int(os.environ.get("OSTINATO_PROPERTY_PROGRAMS", "220")) // 20
FAST = settings(
    max_examples=max(BUDGET, 1), deadline=None, derandomize=True, database=None,
    suppress_health_check=(HealthCheck.too_slow, HealthCheck.large_base_example),
)  # fmt: skip
STEPS = (
    "cumsum", "cumprod", "cummax", "cummin", "logcumsumexp", "linear", "linear_back", "sort",
    "descending", "top", "search", "scatter", "reorder", "flip", "prefix", "over_time",
    "recurrence", "shuffle", "row_sum",
)  # fmt: skip
EXTENTS = ({"B": 2, "T": 5}, {"B": 1, "T": 1}, {"B": 9, "T": 3})
ROWS, COLUMNS = 3, 4


@dataclass(frozen=True)
class Step:
    op: str
    axis: int
    constant: int


steps = st.builds(
    Step, op=st.sampled_from(STEPS), axis=st.sampled_from((-1, -2)), constant=st.integers(1, 3)
)
recipes = st.lists(steps, min_size=1, max_size=4)


def whole(s: Step, x: Tensor) -> Tensor:
    """A function of one axis of a matrix that keeps its shape, and values near 1."""
    size = x.shape[s.axis]
    match s.op:
        case "cumsum" | "cummax" | "cummin" | "logcumsumexp":
            return ot.tanh(getattr(ot, s.op)(x, s.axis))
        case "cumprod":
            return ot.cumprod(1.0 + 0.5 * ot.sin(x), s.axis)
        case "linear" | "linear_back":
            return ot.linear_recurrence(ot.tanh(x) * 0.8, x, s.axis, reverse=s.op != "linear")
        case "sort" | "descending":
            return ot.sort(x, s.axis, descending=s.op != "sort")
        case "top":
            best, _ = ot.top_k(x, 1, s.axis)
            return x - best
        case "search":
            found = ot.searchsorted(ot.sort(x, -1), x * 0.9, ("left", "right")[s.constant % 2])
            return x + found.cast(x.dtype) * 0.125
        case "scatter":
            places = (ot.arange(size) * s.constant) % 5 - 1
            return ot.scatter_add(x, places, size, s.axis)
        case "reorder":
            return ot.take(x, (ot.arange(size) * s.constant) % size, s.axis)
        case "shuffle":
            return ot.take(x, ot.random.permutation(size), s.axis)
        case "flip":
            return ot.flip(x, s.axis)
        case _:
            return x - x.sum(s.axis, keepdims=True) * 0.25


def over_dims(s: Step, x: Tensor, b: Dimension, t: Dimension, name: str) -> Tensor:
    """A function of the axis that a dimension becomes, or one inside a recurrence."""
    function = (ot.cumsum, ot.cummax, ot.logcumsumexp)[s.constant - 1]
    match s.op:
        case "prefix":
            return ot.tanh(function(x.at(t=slice(None, t + 1)), 0).sum(0) * 0.25)
        case "over_time":
            return ot.sort(ot.tanh(function(x.at(t=slice(None)), 0)), 0)[..., t, :, :]
        case _:
            h = ot.recurrent(name, x.shape, x.dtype, over=(b, t))
            h[b, 0] = x.at(t=0)
            h[b, t + 1] = ot.tanh(function(h, s.axis)) * 0.5 + x
            return h


def built(recipe: list[Step], dtype: str) -> tuple[Tensor, Tensor]:
    b, t = ot.dims("b t")
    x = y = ot.input("x", (ROWS, COLUMNS), dtype, over=(b, t))
    for k, s in enumerate(recipe):
        dims = s.op in ("prefix", "over_time", "recurrence") and "t" in {d.name for d in y.over}
        y = over_dims(s, y, b, t, f"h{k}") if dims else whole(s, y)
    return x, y


def values(dtype: str, extents: dict[str, int], seed: int) -> npt.NDArray[Any]:
    shape = (extents["B"], extents["T"], ROWS, COLUMNS)
    return np.random.default_rng(seed).uniform(-1, 1, shape).astype(dtype)


@FAST
@given(recipes, st.sampled_from(("float32", "float64")))
def test_compiled_values_and_gradients_equal_interpreted_ones(
    recipe: list[Step], dtype: str
) -> None:
    x, y = built(recipe, dtype)
    every = tuple(slice(None) for _ in y.over)
    loss = (y[every] if every else y).var()
    program = ot.Program(y=y, gradient=ot.grad(loss, x))
    run = program.compile(threads=2)
    for k, extents in enumerate(EXTENTS):
        given_ = values(dtype, extents, k)
        tolerance = 1e-4 if dtype == "float32" else 1e-9
        expected, found = program.interpret(x=given_, seed=k), run(x=given_, seed=k)
        for name, value in expected.items():
            np.testing.assert_allclose(found[name], value, rtol=tolerance, atol=tolerance)
