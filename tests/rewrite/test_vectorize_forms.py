"""Which forms vectorisation reaches: conditions on the batched dimension, and what they read."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import ostinato as ot
from ostinato.pdg.interpret import interpret
from ostinato.pdg.node import Pdg
from ostinato.rewrite.optimize import Optimized, RewriteOptions, optimize


def small_rows_first() -> ot.Program:
    """Rows of two kinds: the first three advance another way."""
    b, t = ot.dims("b t")
    x, w = ot.input("x", (3,), over=(b, t)), ot.input("w", (3, 3))
    h = ot.recurrent("h", (3,), over=(b, t))
    h[b, 0] = x[b, 0]
    h[(b < 3) & (t >= 1)] = ot.tanh(h[b, t - 1]) @ w
    h[b, t + 1] = ot.sin(h) + x[b, t + 1]
    return ot.Program(h=h)


def diagonal_start() -> ot.Program:
    """Row b is set at step b."""
    b, t = ot.dims("b t")
    x, w = ot.input("x", (3,), over=(b, t)), ot.input("w", (3, 3))
    h = ot.recurrent("h", (3,), over=(b, t))
    h[t == b] = x
    h[b, 0] = x[b, 0] * 2.0
    h[b, t + 1] = ot.tanh(h) @ w
    return ot.Program(h=h)


def odd_rows_drawn() -> ot.Program:
    """Rows whose steps are drawn, and gathered from, at odd places only."""
    b, t = ot.dims("b t")
    x, w = ot.input("x", (3,), over=(b, t)), ot.input("w", (3, 3))
    h = ot.recurrent("h", (3,), over=(b, t))
    h[b, 0] = x[b, 0] @ w
    chosen = h.take(ot.random.categorical(h), axis=0)
    drawn = ot.random.uniform((3,), over=(b, t)) + chosen
    h[(b % 2 == 1) & (t >= 1)] = drawn[b, t - 1]
    h[b, t + 1] = h * 0.5
    return ot.Program(h=h)


def stopped_rows() -> ot.Program:
    """Rows of two kinds that end where their values say so."""
    b, t = ot.dims("b t")
    x, w = ot.input("x", (3,), over=b), ot.input("w", (3, 3))
    h = ot.recurrent("h", (3,), over=(b, t))
    ot.stop(t, when=h.sum() > 1.0)
    h[b, 0] = x
    h[(b >= 2) & (t >= 1)] = ot.tanh(h[b, t - 1] @ w)
    h[b, t + 1] = h + 0.25
    return ot.Program(h=h, total=h[b, :].sum(0))


SPLIT = (small_rows_first, diagonal_start, odd_rows_drawn, stopped_rows)


def optimized(program: ot.Program) -> Optimized:
    return optimize(program.pdg, RewriteOptions(hints={"B": 64, "T": 64}))


def same_results(before: Pdg, after: Pdg, extents: dict[str, int]) -> None:
    rng = np.random.default_rng(0)
    sizes = {"x": [extents["B"], extents["T"], 3], "w": [3, 3]}
    if not any(len(n.domain) == 2 for n in before.nodes() if n.label == "x"):
        sizes["x"] = [extents["B"], 3]
    values = {name: rng.normal(size=size) for name, size in sizes.items() if name in str(before)}
    expected = interpret(before, extents, values, exact=True)
    found = interpret(after, extents, values, exact=True)
    for name, value in expected.items():
        np.testing.assert_allclose(found[name], value, rtol=1e-9, atol=1e-12, err_msg=name)


@pytest.mark.parametrize("build", SPLIT)
def test_a_recurrence_with_cases_by_row_advances_all_rows_at_once(
    build: Callable[[], ot.Program],
) -> None:
    result = optimized(build())
    assert [d.name for d in result.batched["h"]] == ["b"]


@pytest.mark.parametrize("build", SPLIT)
@pytest.mark.parametrize("extents", [{"B": 1, "T": 1}, {"B": 5, "T": 4}])
def test_rows_that_advance_together_keep_their_own_cases(
    build: Callable[[], ot.Program], extents: dict[str, int]
) -> None:
    program = build()
    same_results(program.pdg, optimized(program).pdg, extents)
