"""Distances of dependences, with and without isl."""

import pytest

from ostinato.codegen.ir.system import Axis
from ostinato.codegen.ir.tree import Span
from ostinato.codegen.scheduling.deps import ANY, Box, Dep, Unit, dependences, quick_gap
from ostinato.pdg.condition import ALWAYS, at_least, equal
from ostinato.pdg.index import Dim, Expr, expr, minimum
from tests.codegen.builder import Builder, Cases, call
from tests.codegen.compare import assert_right
from tests.codegen.on_cpu import tile

T = Dim("t")
K = Dim("k")
END = expr(T.extent)


def box(size: Expr) -> Box:
    return Box({T: Span(T, expr(0), END)}, (Axis(K, size, END),))


@pytest.mark.parametrize(
    ("index", "size", "gap"),
    [
        (expr(T) - 3, expr(1), (3, 3)),
        (expr(K), expr(T) + 1, (0, None)),  # x[: t + 1]
        (expr(T) + K, END - expr(T), (None, 0)),  # x[t:]
        (expr(T) - 4 + K, expr(5), (0, 4)),  # a window of five
        (expr(0), expr(1), (0, None)),
        (END - 1, expr(1), (None, 0)),
        (END - 1 - expr(T), expr(1), ANY),
    ],
)
def test_quick_distances(index: Expr, size: Expr, gap: object) -> None:
    assert quick_gap(T, index, box(size)) == gap


def only_dep(p: Builder) -> Dep:
    tiled = tile(p.system(), {"b": 2}, 2)
    units = [Unit(s) for s in tiled.statements.values()]
    return next(d for d in dependences(units, tiled.spans) if d.consumer.name == "y")


def test_a_clipped_window_is_asked_of_isl() -> None:
    p = Builder("t", {})
    t = p.d["t"]
    p.add("x", "t", "", 1.0)
    p.add("y", "t", "", p("x", t=minimum(expr(t) + 2, expr(t.extent) - 1)))
    p.outputs = ["y"]
    dep = only_dep(p)
    assert not dep.is_quick
    assert dep.gap(t) == (-2, 0)


def test_conditions_count_in_exact_distances() -> None:
    p = Builder("t", {})
    t = p.d["t"]
    p.add("x", "t", "", 1.0)
    p.add("y", "t", "", [(at_least(2, t), 1.0), (ALWAYS, p("x", t=expr(1)))])
    p.outputs = ["y"]
    assert only_dep(p).gap(t) == (-1, None)
    assert only_dep(p).exact().gap(t) == (2, None)


def test_a_read_between_tiles_keeps_both_distances() -> None:
    p = Builder("b", {})
    b = p.d["b"]
    p.add("x", "b", "", 1.0)
    early: Cases = [(equal(b, 0), 0.0), (ALWAYS, p("x", b=b - expr(1)))]
    p.add("y", "b", "", early, lanes="")
    p.outputs = ["y"]
    dep = only_dep(p)
    outer, inner = dep.consumer.dims
    assert dep.gap(outer) == (0, 1)
    assert dep.gap(inner) == (None, None), "the producer has an axis there"


def test_a_dependence_that_is_never_at_the_same_step_ends_inside_the_loop() -> None:
    p = Builder("t", {})
    t = p.d["t"]
    p.add("x", "t", "", 1.0)
    p.add("y", "t", "", [(equal(t, 0), 0.0), (ALWAYS, p("x", t=t - expr(1)))])
    p.outputs = ["y"]
    assert only_dep(p).at_same(t) is None


def test_a_value_is_read_at_its_own_and_at_another_element() -> None:
    p = Builder("t", {"h": 6})
    p.input("start", "", "h", {})
    p.add("x", "t", "h", call("sin", p("start")))
    p.add("y", "t", "h", p("x") + p("x", 5))
    p.outputs = ["y"]
    assert_right(p, {"T": 3})


def test_fixing_a_dimension_goes_on_from_the_points_that_are_known(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    p = Builder("b t", {})
    b, t = p.d["b"], p.d["t"]
    p.add("x", "b t", "", 1.0)
    p.add("y", "b t", "", p("x", b=b, t=minimum(expr(t) + 2, expr(t.extent) - 1)))
    p.outputs = ["y"]
    dep = only_dep(p)
    whole, asked = dep.relation, list[object]()
    monkeypatch.setattr("ostinato.codegen.scheduling.deps.point_relation", asked.append)
    fixed = dep.at_same(t)
    assert fixed is not None and fixed.gap(t) == (0, 0)
    assert fixed.relation.is_subset(whole) and not whole.is_subset(fixed.relation)
    assert asked == []
