"""Functions of whole axes in systems written by hand: plans against NumPy."""

import pytest

from ostinato.codegen.ir.tree import Sweep
from ostinato.codegen.planning.plan import Plan
from ostinato.pdg.condition import ALWAYS, equal
from ostinato.pdg.index import Extent, expr
from tests.codegen.builder import Builder, call, number
from tests.codegen.compare import all_leaves, assert_right

SIZES = {"B": 7, "T": 5}
RUNNING = ["sum", "prod", "max", "min", "logsumexp"]


def rows(n: int = 6) -> Builder:
    p = Builder("b t", {"n": n, "i": n, "k": n, "r": 3})
    place = number(p.d["b"]) * 1.3 + number(p.d["t"]) * 0.7 + number(p.a["n"]) * 2.1
    p.add("x", "b t", "n", call("sin", place))
    return p


def sweeps(plan: Plan) -> list[Sweep]:
    return [leaf for leaf in all_leaves(plan) if isinstance(leaf, Sweep)]


@pytest.mark.parametrize("fn", [*RUNNING, "argsort"])
@pytest.mark.parametrize("n", [1, 3, 6, 20])
def test_a_row_of_a_tile(fn: str, n: int) -> None:
    p = rows(n)
    p.sweep("y", "b t", "i", fn, p("x", "k"), along="i", over="k")
    p.outputs = ["y"]
    planned = assert_right(p, SIZES, {"b": 3})
    assert [s.statement for s in sweeps(planned)] == ["y"]


@pytest.mark.parametrize("fn", ["sum", "argsort"])
def test_rows_of_axes_after_the_processed_one(fn: str) -> None:
    p = rows()
    p.add("z", "b", "n r", p("x", "n", t=2) * (number(p.a["r"]) - 1.0))
    p.sweep("y", "b", "i r", fn, p("z", "k", "r"), along="i", over="k")
    p.outputs = ["y"]
    assert_right(p, SIZES, {"b": 3})


def test_a_recurrence_through_a_whole_axis() -> None:
    p = rows()
    t = p.d["t"]
    p.add("s", "b t", "n", 0.0)
    p.sweep("y", "b t", "i", "sum", p("s", "k"), along="i", over="k")
    del p.statements["s"]
    later = p("y", "n", t=expr(t) - 1) * 0.5 + p("x")
    p.add("s", "b t", "n", [(equal(t, 0), p("x")), (ALWAYS, later)])
    p.outputs = ["y"]
    assert_right(p, SIZES, {"b": 3})


def test_rows_that_lie_beside_each_other_are_walked_together() -> None:
    p = Builder("b t", {"k": expr(Extent("T")), "i": expr(Extent("T"))})
    p.add("x", "b t", "", call("sin", number(p.d["t"]) * 3.0 + number(p.d["b"])))
    p.sweep("y", "b", "i", "sum", p("x", t=expr(p.a["k"])), along="i", over="k")
    p.outputs = ["y"]
    planned = assert_right(p, SIZES, {"b": 3, "t": 2})
    assert [a.index.name for a in planned.storage["y"].axes] == ["i", "b_i"]


@pytest.mark.parametrize("fn", ["max", "argsort"])
def test_a_row_that_is_another_dims_history_is_copied_to_be_sorted(fn: str) -> None:
    p = Builder("b t", {"n": 4, "k": expr(0), "i": expr(0)})
    p.axes = {**p.axes, "k": expr(p.d["t"].extent), "i": expr(p.d["t"].extent)}
    p.add(
        "x", "b t", "n", call("sin", number(p.d["t"]) * 3.0 + number(p.a["n"]) + number(p.d["b"]))
    )
    p.sweep("y", "b", "i n", fn, p("x", "n", t=expr(p.a["k"])), along="i", over="k")
    p.outputs = ["y"]
    planned = assert_right(p, SIZES, {"b": 3})
    assert ("y_row" in planned.statements) == (fn == "argsort")
