"""How many points are stored, and for whom: each case was once a wrong answer."""

from dataclasses import replace

from ostinato.codegen.planning.plan import Plan
from ostinato.pdg.condition import ALWAYS, at_least, equal
from ostinato.pdg.index import Dim, expr
from tests.codegen.builder import Builder, V, number
from tests.codegen.compare import assert_right

SIZES = {"B": 5, "I": 3, "T": 6}


def kinds(planned: Plan, name: str) -> list[str]:
    return [slot.kind for slot in planned.storage[name].slots]


def recurrence(p: Builder, dims: str, over: str, step: int, start: V) -> None:
    """``x[d] = n[d - step]`` with ``n = 0.9 x``."""
    d = p.d[over]
    p.add("n", dims, "", 0.0)
    before = p("n", **{over: expr(d) - step})
    p.add("x", dims, "", [(at_least(step - 1, d), start), (ALWAYS, before)])
    p.add("n", dims, "", p("x") * 0.9)


def test_a_read_one_step_back_before_the_write_needs_one_slot() -> None:
    p = Builder("b t", {})
    recurrence(p, "b t", "t", 1, number(p.d["b"]))
    p.add("s", "b t", "", p("x"), over="b t")
    p.outputs = ["s"]
    assert kinds(assert_right(p, SIZES, {"b": 2}), "n") == ["one", "one"]


def test_a_window_is_a_circular_buffer() -> None:
    p = Builder("t", {})
    t = p.d["t"]
    p.add("x", "t", "", number(t))
    late = [(at_least(2, t), p("x")), (ALWAYS, p("x") - p("x", t=t - expr(3)))]
    p.add("d", "t", "", late)
    p.add("s", "t", "", p("d") * p("d"), over="t")
    p.outputs = ["s"]
    planned = assert_right(p, SIZES)
    assert str(planned.storage["x"].slots[0].extent) == "4"


def test_a_loop_over_a_dimension_that_is_made_twice_is_one_loop() -> None:
    p = Builder("t", {})
    recurrence(p, "t", "t", 1, number(0))
    p.add("s", "t", "", p("x"), over="t")
    p.d["t"] = Dim("t", p.d["t"].serial)
    p.statements["x"] = replace(p.statements["x"], dims=(p.d["t"],))
    p.outputs = ["s"]
    assert kinds(assert_right(p, SIZES), "n") == ["one"]


def iterated(p: Builder, dims: str, start: V) -> None:
    """A state over ``i`` whose step needs a sum over everything else."""
    i = p.d["i"]
    p.add("n", dims, "", 0.0)
    p.add("x", dims, "", [(equal(i, 0), start), (ALWAYS, p("n", i=i - expr(1)))])
    p.add("s", dims, "", p("x"), over=dims.replace("i", "").strip())
    p.add("n", dims, "", p("x") * 0.5 + p("s") * 0.1)
    p.outputs = ["s"]


def test_a_value_carried_by_an_outer_loop_keeps_every_inner_point() -> None:
    p = Builder("i t", {})
    iterated(p, "i t", number(p.d["t"]))
    assert kinds(assert_right(p, SIZES), "n") == ["one", "full"]


def test_a_value_carried_around_tiles_belongs_to_its_tile() -> None:
    p = Builder("b i", {})
    iterated(p, "b i", number(p.d["b"]))
    planned = assert_right(p, SIZES, {"b": 2})
    assert planned.storage["n"].place == "global"
    assert kinds(planned, "n") == ["full", "one"]


def test_an_accumulator_is_reset_in_every_outer_step() -> None:
    p = Builder("i t", {"h": 6})
    p.add("x", "i t", "h", number(p.d["t"]) + number(p.a["h"]))
    p.add("s", "i t", "h", p("x"), over="t")
    p.outputs = ["s"]
    assert_right(p, SIZES)


def test_a_read_of_other_elements_is_not_in_place() -> None:
    p = Builder("t", {"h": 6})
    t, h = p.d["t"], p.a["h"]
    p.add("x", "t", "h", 0.0)
    mirrored = p("x", expr(5) - expr(h), t=t - expr(1)) * 0.5 + number(h)
    p.add("x", "t", "h", [(equal(t, 0), number(h)), (ALWAYS, mirrored)])
    p.add("s", "t", "h", p("x"), over="t")
    p.outputs = ["s"]
    assert kinds(assert_right(p, SIZES), "x") == ["circular"]


def test_a_value_read_only_in_its_nest_is_a_register() -> None:
    p = Builder("t", {"h": 6})
    p.add("x", "t", "h", number(p.a["h"]) * 0.5)
    p.add("y", "t", "h", p("x") * p("x"))
    p.add("s", "t", "h", p("y"), over="t")
    p.outputs = ["s"]
    assert assert_right(p, SIZES).storage["x"].place == "register"
