"""Loads that may leave their tensor keep a clamp; all others are proved to stay inside."""

from __future__ import annotations

import numpy as np
import pytest

import ostinato as ot
from ostinato.codegen.ir.system import Axis, Clamp, Load, Statement, System
from ostinato.codegen.lowering.prove_bounds import below, prove_bounds
from ostinato.pdg.condition import ALWAYS, Cond, at_least
from ostinato.pdg.index import Dim, Expr, Extent, expr, minimum

B, T, A = Dim("b"), Dim("t"), Dim("a")
SIZE = minimum(Extent("P"), T.extent)


def clamp_of(at: Expr, cond: Cond = ALWAYS) -> Clamp:
    """The clamp of a load from an array with ``min(P, T)`` rows, at every step."""
    rows = Statement("rows", "input", (), (Axis(A, SIZE, SIZE),), (), "float32")
    load = Load("rows", (), (at,), "float32")
    reader = Statement("y", "map", (T,), (), ((cond, load),), "float32")
    found = prove_bounds(System({"rows": rows, "y": reader}, {"y": "y"}, {}))
    return next(iter(found.statements["y"].reads)).clamp


def test_an_index_of_an_axis_that_may_leave_it_is_clamped() -> None:
    assert clamp_of(expr(T)) == "all"


def test_the_condition_of_a_clause_proves_that_an_axis_is_not_left() -> None:
    assert clamp_of(expr(T), at_least(expr(Extent("P")) - 1, T)) == ""


@pytest.mark.parametrize(
    ("at", "size", "is_below"),
    [
        (expr(B) + expr(T) * B.extent, expr(B.extent) * T.extent, True),
        (expr(B) + expr(T) * B.extent + 1, expr(B.extent) * T.extent, False),
        (expr(T) + expr(B) * B.extent, expr(B.extent) * T.extent, False),
        (expr(B) - expr(T) * B.extent, expr(B.extent) * T.extent, False),
        (expr(T) * 3 + 2, expr(T.extent) * 3, True),
    ],
    ids=str,
)
def test_row_major_positions_are_bounded_by_the_product(
    at: Expr, size: Expr, is_below: bool
) -> None:
    assert below(at, size, {}) == is_below


def prompted(windows: int) -> ot.Program:
    """A value whose first steps are a prompt, read over windows as often as asked."""
    t, p = ot.dims("t p")
    prompt = ot.input("prompt", shape=(64,), over=p)
    w = ot.input("w", shape=(64, 64))
    x = ot.recurrent("x", shape=(64,), over=t)
    h: ot.Tensor = x
    for _ in range(windows):
        y = h @ w
        h = (y[ot.maximum(t - 7, 0) : t + 1] * y).sum(0)
    x[t < p.size] = prompt[t]
    x[True] = ot.tanh(h[t - 1])
    return ot.Program(x=x)


def test_windows_of_a_prompt_are_not_read_past_their_end() -> None:
    draws = np.random.default_rng(0)
    prompt = draws.normal(size=(16, 64)).astype("float32") * 0.1
    w = draws.normal(size=(64, 64)).astype("float32") * 0.05
    program = prompted(2)
    run = program.compile()
    run(prompt=prompt, w=w, T=100_000)  # read 25 MB past the end of 4 kB
    expected = program.interpret(prompt=prompt, w=w, T=20)["x"]
    np.testing.assert_allclose(run(prompt=prompt, w=w, T=20)["x"], expected, rtol=1e-4, atol=1e-8)
