"""Rows between the steps of a history that is read across its steps."""

from __future__ import annotations

import numpy as np
import pytest

import ostinato as ot
from ostinato.codegen.cpu.cpu_target import CPU
from ostinato.codegen.memory.apart import steps_apart
from ostinato.codegen.memory.storage import Slot, Storage
from ostinato.codegen.planning.planned import Plan
from ostinato.compiler.options import Options
from ostinato.compiler.pipeline import optimize_pdg, plan_of
from ostinato.pdg.index import Dim, expr
from tests.codegen.builder import Builder

WIDTH = 32


def attention(width: int = WIDTH) -> ot.Program:
    """A step attends to all steps before, and moves what it has by a half."""
    b, t = ot.dims("b t")
    x = ot.recurrent("x", (width,), over=(b, t))
    weights = ot.random.normal((width, width)) / width**0.5
    key = ot.tanh(x @ weights).named("key")
    score = ot.softmax((key[b, : t + 1] @ x[..., None])[..., 0])
    x[b, 0] = ot.random.normal((width,), over=b)
    x[b, t + 1] = 0.5 * x + (score[..., None] * key[b, : t + 1]).sum(0)
    return ot.Program(last=x[b, t.size - 1])


def planned(program: ot.Program, without: tuple[str, ...] = ()) -> Plan:
    chosen = Options(threads=2, without=without)
    return plan_of(optimize_pdg(program.pdg, None, chosen), chosen)[0]


def rows(plan: Plan) -> dict[str, int]:
    """The stored rows of every history of matrices, by what it is called."""
    kept = {n: s for n, s in plan.storage.items() if len(s.axes) == 2 and s.slots}
    full = {n: s for n, s in kept.items() if s.slots[-1].kind == "full"}
    return {plan.statements[n].label or n: s.axes[0].pad.as_int() for n, s in full.items()}


def test_a_history_that_is_read_across_has_a_row_between_its_steps() -> None:
    assert WIDTH + 1 in rows(planned(attention())).values()
    without = planned(attention(), ("steps apart",))
    assert {*rows(without).values()} <= {WIDTH}


def test_one_that_is_read_step_by_step_has_none() -> None:
    b, t = ot.dims("b t")
    x = ot.input("x", (WIDTH,), over=(b, t))
    state = ot.recurrent("state", (WIDTH,), over=(b, t))
    state[b, 0] = x[b, 0]
    state[b, t + 1] = ot.tanh(state + x[b, t + 1])
    loss = (state**2)[:, :].sum((0, 1)).sum()
    assert WIDTH + 1 not in rows(planned(ot.Program(d=ot.grad(loss, x)))).values()


@pytest.mark.parametrize("batch", [1, 31, 32, 33, 70])
@pytest.mark.parametrize("threads", [1, 2])
def test_results_equal_the_interpreter(batch: int, threads: int) -> None:
    program = attention()
    found = program.compile(threads=threads, checks="addresses")(B=batch, T=9, seed=2)["last"]
    expected = program.interpret(B=batch, T=9, seed=2)["last"]
    np.testing.assert_allclose(found, expected, 1e-4, 1e-5)


def test_bits_are_those_of_steps_side_by_side() -> None:
    program = attention()
    apart = program.compile(threads=2)(B=70, T=20)["last"]
    beside = program.compile(threads=2, without=["steps apart"])(B=70, T=20)["last"]
    assert (apart == beside).all()


@pytest.mark.parametrize(
    ("shape", "stored"),
    [
        ((32, 32), 33),  # 4 KiB: every step at the same place of a page
        ((16, 32), 17),
        ((28, 32), 29),  # 3.5 KiB: at one of eight places
        ((31, 32), 31),
        ((32, 8), 33),
        ((8, 8), 8),  # 256 bytes
        ((32, 256), 33),  # rows of 1 KiB, which fill the places between
        ((4, 256), 4),  # one more would be too many
        ((32, 1024), 32),  # a row is a page
        ((1024,), 1024),  # no rows
    ],
)
def test_steps_lie_where_no_two_rows_share_few_lines(shape: tuple[int, ...], stored: int) -> None:
    p = Builder("t s", {"k": expr(Dim("s").extent), **{f"a{k}": n for k, n in enumerate(shape)}})
    t, axes = p.d["t"], " ".join(f"a{k}" for k in range(len(shape)))
    p.add("x", "t", axes, 1.0)
    p.add("y", "s", f"{axes} k", p("x", t=expr(p.a["k"])), over="k")
    slots = (Slot(t, "full", expr(t.extent)),)
    storage = Storage("x", "local", slots, p.statements["x"].result_axes, "float32")
    found = steps_apart({"x": storage}, p.statements, (), CPU)["x"]
    assert found.axes[0].pad.as_int() == stored
