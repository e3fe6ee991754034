"""Functions of whole axes, compiled, equal the interpreter."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import ostinato as ot
from ostinato.language.tensor import Tensor, merged
from ostinato.pdg import build
from ostinato.pdg.index import Expr

RUNNING = ["sum", "prod", "max", "min", "logsumexp", "argsort"]
EXTENTS = ({"B": 3, "T": 5}, {"B": 1, "T": 1}, {"B": 35, "T": 4})
b, t = ot.dims("b t")


def along(fn: str, *xs: Tensor, axis: int = -1, size: Expr | None = None) -> Tensor:
    return Tensor(build.along(fn, [x.node for x in xs], axis, size), merged(*xs))


def assert_equal(y: Tensor | dict[str, Tensor], **shapes: tuple[str | int, ...]) -> None:
    """Compare at three sizes; ``shapes`` are those of the inputs, extents by name."""
    program = ot.Program(**(y if isinstance(y, dict) else {"y": y}))
    run = program.compile(threads=2)
    for seed, extents in enumerate(EXTENTS):
        rng = np.random.default_rng(seed)
        known: dict[str, Any] = {k: v for k, v in extents.items() if k in program.extents}
        for name, shape in shapes.items():
            sizes = [extents[s] if isinstance(s, str) else s for s in shape]
            known[name] = rng.standard_normal(sizes).astype("float32")
        found, expected = run(**known), program.interpret(**known)
        for name, value in expected.items():
            np.testing.assert_allclose(found[name], value, 1e-4, 1e-5, err_msg=f"{name} {extents}")


@pytest.mark.parametrize("fn", RUNNING)
def test_rows_of_points(fn: str) -> None:
    x = ot.input("x", (6,), over=(b, t))
    assert_equal(along(fn, x), x=("B", "T", 6))


@pytest.mark.parametrize("fn", RUNNING)
def test_a_dims_history_as_a_row(fn: str) -> None:
    x = ot.input("x", over=(b, t))
    assert_equal({"whole": along(fn, x[b, :]), "past": along(fn, x[b, : t + 1])}, x=("B", "T"))


@pytest.mark.parametrize("fn", RUNNING)
def test_rows_across_a_vectorised_dim(fn: str) -> None:
    x = ot.input("x", (3,), over=(b, t))
    assert_equal(along(fn, x[:, t], axis=-2), x=("B", "T", 3))


@pytest.mark.parametrize("fn", ["sum", "argsort"])
def test_a_recurrence_through_rows(fn: str) -> None:
    s = ot.recurrent("s", (4,), over=(b, t))
    x = ot.input("x", (4,), over=(b, t))
    s[b, 0] = x[b, 0]
    s[b, t + 1] = 0.3 * along(fn, s).cast("float32") + x[b, t + 1]
    assert_equal(s, x=("B", "T", 4))


def test_computed_operands_and_repeated_values() -> None:
    x = ot.input("x", (6,), over=(b, t))
    ones = ot.ones((6,))
    program = {
        "flipped": along("sum", ot.flip(x, -1) * 2.0),
        "order": along("argsort", ones),
        "steps": along("sum", ones),
        "decayed": along("linear", ones * 0.5, x),
        "places": along("searchleft", along("sum", ot.exp(x)), ot.exp(x[b, t, 1:4])),
    }
    assert_equal(program, x=("B", "T", 6))


def test_additions_at_positions() -> None:
    x = ot.input("x", (6, 4), over=(b, t))
    at = (x[b, t, :, 0] * 3.0).cast("int32")
    wide = (x * 3.0).cast("int32")
    program = {
        "rows": along("scatter", x, at.reshape(6, 1), axis=-2, size=Expr((), 5)),
        "cells": along("scatter", x, wide, axis=-2, size=Expr((), 5)),
        "last": along("scatter", x, wide, size=Expr((), 3)),
        "counts": along("scatter", ot.ones((6,)), at, size=Expr((), 3)),
        "one": along("scatter", x, wide, size=Expr((), 1)),
    }
    assert_equal(program, x=("B", "T", 6, 4))


def test_a_value_read_once_in_order_is_part_of_the_pass() -> None:
    x = ot.input("x", (6,), over=(b, t))
    run = ot.Program(y=along("sum", ot.tanh(x) * x)).compile()
    assert "tanh_f32" in run.explain().source.split("cumsum")[1]
    assert "mul" not in run.explain().schedule


@pytest.mark.parametrize("fn", ["sum", "linear", "scatter"])
def test_results_do_not_depend_on_the_number_of_threads(fn: str) -> None:
    x = ot.input("x", (40,), over=(b, t))
    at = (x * 9.0).cast("int32")
    operands = {"sum": (x,), "linear": (x, x), "scatter": (x, at)}[fn]
    size = Expr((), 5) if fn == "scatter" else None
    program = ot.Program(y=along(fn, *operands, size=size))
    given = np.random.default_rng(0).standard_normal((70, 3, 40)).astype("float32")
    runs = [program.compile(threads=n)(x=given)["y"].tobytes() for n in (1, 2, 3)]
    assert runs[0] == runs[1] == runs[2]


FUNCTIONS: dict[str, Callable[[Tensor, int], Tensor]] = {
    "cumsum": ot.cumsum,
    "cummax": ot.cummax,
    "logcumsumexp": ot.logcumsumexp,
    "sort": ot.sort,
    "ranks": lambda x, axis: ot.argsort(ot.argsort(x, axis), axis),
    "down": lambda x, axis: ot.argsort(x, axis, descending=True),
    "shuffled": lambda x, axis: along("shuffle", (x * 3.0).cast("int32"), axis=axis),
    "linear": lambda x, axis: ot.linear_recurrence(ot.tanh(x), x, axis),
    "reverse": lambda x, axis: ot.linear_recurrence(0.5 * ot.tanh(x), x, axis, reverse=True),
    "bins": lambda x, axis: ot.scatter_add(x * x, ot.floor(x + 2.0).cast("int32"), 5, axis),
}
PLACES: dict[str, Callable[[Tensor], Tensor]] = {
    "point": lambda x: x,
    "past": lambda x: x[b, : t + 1],
    "future": lambda x: x[b, t:],
    "row": lambda x: x[:, t],
    "turned": lambda x: x.transpose(1, 0),
}
ENDS: dict[str, Callable[[Tensor], Tensor]] = {
    "whole": lambda y: y,
    "sum": lambda y: y.sum(0),
    "last": lambda y: y.max(-1),
}


@settings(max_examples=8, deadline=None, derandomize=True, database=None)
@given(
    st.sampled_from(sorted(FUNCTIONS)), st.sampled_from(sorted(PLACES)),
    st.sampled_from(sorted(ENDS)), st.integers(-2, -1), st.booleans(),
)  # fmt: skip
def test_invented_programs(fn: str, place: str, end: str, axis: int, first: bool) -> None:
    x = ot.input("x", (3, 4), over=(b, t))
    rows = PLACES[place](x)
    y = FUNCTIONS[fn](rows, -rows.ndim if first else axis)
    assert_equal(ENDS[end](y), x=("B", "T", 3, 4))


def test_the_points_of_two_dims_as_one_row() -> None:
    x = ot.input("x", over=(b, t))
    mixed = ot.where(ot.index(t) > 1, x, 2.0 * x) + ot.index(b).cast("float32")
    program = {
        "order": ot.argsort(x[:, :], axis=None),
        "sums": ot.cumsum(mixed[:, :]),
        "places": ot.sort((ot.index(t) - ot.index(b))[:, :], axis=None),
        "middle": ot.median(x[:, :]),
    }
    assert_equal(program, x=("B", "T"))
