"""Folds in parts, arg folds, folds over growing ranges."""

from dataclasses import replace

import pytest

from ostinato.codegen.ir.system import Axis
from ostinato.codegen.ir.tree import Nest
from ostinato.pdg.index import Dim, expr
from tests.codegen.builder import Builder, call, number
from tests.codegen.compare import all_leaves, assert_right
from tests.codegen.executor import execute
from tests.codegen.on_cpu import plan

SIZES = {"B": 7, "T": 5}


def rows() -> Builder:
    p = Builder("b t", {"h": 6})
    wave = call("sin", number(p.d["b"]) * 1.3 + number(p.d["t"]) * 0.7 + number(p.a["h"]))
    p.add("x", "b t", "h", wave)
    return p


@pytest.mark.parametrize("fn", ["sum", "prod", "max", "min"])
@pytest.mark.parametrize("over", ["b", "t", "h", "b t", "b h", "b t h"])
def test_folds_over_tiles_points_and_axes(fn: str, over: str) -> None:
    p = rows()
    p.add("s", "b t", "h", p("x"), over=over, fold=fn)
    p.outputs = ["s"]
    assert_right(p, SIZES, {"b": 3})


def test_results_do_not_depend_on_the_number_of_workers() -> None:
    p = rows()
    p.add("s", "b t", "h", p("x"), over="b t")
    p.outputs = ["s"]
    planned = plan(p.system(), {"b": 2})
    runs = [execute(planned, SIZES, p.arrays, w, seed=w)["s"].tolist() for w in (1, 2, 3)]
    assert runs[0] == runs[1] == runs[2]


def test_a_sum_over_rows_and_steps_adds_whole_vectors() -> None:
    p = Builder("b t", {})
    p.add("x", "b t", "", number(p.d["b"]))
    p.add("s", "b t", "", p("x"), over="b t")
    p.outputs = ["s"]
    planned = assert_right(p, SIZES, {"b": 3})
    assert [str(a.index) for a in planned.storage["s_part"].axes] == ["b_i"]


@pytest.mark.parametrize("fn", ["argmax", "argmin"])
@pytest.mark.parametrize("over", ["h", "b"])
def test_positions(fn: str, over: str) -> None:
    p = rows()
    p.add("k", "b t", "h", p("x"), over=over, fold=fn, dtype="int32")
    p.outputs = ["k"]
    assert_right(p, SIZES, {"b": 3})


@pytest.mark.parametrize("lanes", ["b", "t", "b t"])
def test_a_fold_over_the_past(lanes: str) -> None:
    p = rows()
    t, k = p.d["t"], Dim("k")
    p.add("s", "b t", "h", p("x", t=expr(k)), lanes=lanes)
    s = p.statements["s"]
    past = (*s.axes, Axis(k, expr(t) + 1, expr(t.extent)))
    p.statements["s"] = replace(s, kind="fold", axes=past, reduced=frozenset({k}), fold="sum")
    p.outputs = ["s"]
    assert_right(p, SIZES, {"b": 3, "t": 2})


def test_the_loops_of_a_fold_follow_what_it_reads() -> None:
    p = rows()
    t, k = p.d["t"], Dim("k")
    p.add("s", "b t", "", p("x", 0, t=expr(k)))
    s = p.statements["s"]
    past = (Axis(k, expr(t) + 1, expr(t.extent)),)
    p.statements["s"] = replace(s, kind="fold", axes=past, reduced=frozenset({k}), fold="sum")
    p.outputs = ["s"]
    planned = assert_right(p, SIZES, {"b": 3})
    assert [a.index.name for a in planned.statements["s"].axes] == ["k", "b_i"]


def test_a_computed_position_of_a_tiny_axis_needs_no_memory() -> None:
    p = Builder("b", {"a": 3})
    p.add("x", "b", "a", number(p.d["b"]) * number(p.a["a"]))
    p.add("k", "b", "a", p("x"), over="a", fold="argmax", dtype="int32")
    p.add("y", "b", "", p("x", p("k")))
    p.outputs = ["y"]
    planned = assert_right(p, SIZES)
    assert planned.storage["x"].place == "register"
    nests = [leaf for leaf in all_leaves(planned) if isinstance(leaf, Nest)]
    assert [n.statements for n in nests] == [("x", "k", "y")]
