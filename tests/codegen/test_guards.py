"""A value that is read under conditions only is not computed elsewhere."""

from __future__ import annotations

import pytest

from ostinato.codegen.ir.tree import Span
from ostinato.codegen.masks.guards import guards
from ostinato.codegen.planning.show import show_plan
from ostinato.pdg.condition import ALWAYS, Cond, at_least, equal, every
from ostinato.pdg.extra_dims import twin
from ostinato.pdg.index import Dim, Expr, expr
from tests.codegen.builder import Builder, V, call, choose, number
from tests.codegen.compare import assert_right
from tests.codegen.on_cpu import plan

STEPS = 6


def chain() -> Builder:
    """``y[t]``: from t = 3 on the sum of the squares ``f`` of ``x``, before that x itself."""
    p = Builder("t", {"j": 4})
    p.input("x", "t", "j", {"T": STEPS})
    p.add("f", "t", "j", p("x") * p("x"))
    p.add("s", "t", "j", p("f"), over="j")
    return p


def needed(p: Builder, *outputs: str) -> dict[str, Cond]:
    spans = {d: Span(d, expr(0), expr(d.extent)) for d in p.d.values()}
    return guards(p.statements, frozenset(outputs), spans)


def reader(p: Builder, of: V, cond: Cond) -> Builder:
    p.add("y", "t", "", [(cond, of), (ALWAYS, 0.5)])
    p.outputs = ["y"]
    return p


def test_a_condition_of_the_reader_reaches_everything_that_only_it_needs() -> None:
    p = chain()
    late = at_least(p.d["t"], expr(p.d["t"].extent) // 2)
    assert needed(reader(p, p("s"), late), "y") == {"s": late, "f": late}
    assert_right(p, {"T": STEPS})


def test_a_condition_moves_with_the_step_that_is_read() -> None:
    p = chain()
    t = p.d["t"]
    half = expr(t.extent) // 2
    reader(p, p("s", t=expr(t) - 1), at_least(t, half + 1))
    assert needed(p, "y")["s"] == at_least(t, half)
    assert_right(p, {"T": STEPS})


def test_a_value_that_is_read_at_one_step_is_computed_there_only() -> None:
    p = chain()
    p.add("y", "t", "", call("add", p("s", t=0), 1.0))
    p.outputs = ["y"]
    assert needed(p, "y")["s"] == equal(p.d["t"], 0)
    assert_right(p, {"T": STEPS})


def test_a_choice_inside_a_value_counts() -> None:
    p = chain()
    even = equal(expr(p.d["t"]) % 2, 0)
    p.add("y", "t", "", choose(even, p("s"), 2.0))
    p.outputs = ["y"]
    assert needed(p, "y") == {"s": even, "f": even}
    assert_right(p, {"T": STEPS})


@pytest.mark.parametrize("far", [1, 2])
def test_a_bound_that_leaves_out_a_few_steps_is_not_worth_a_test(far: int) -> None:
    p = chain()
    assert needed(reader(p, p("s"), at_least(p.d["t"], far)), "y") == {}


def test_an_output_is_needed_everywhere() -> None:
    p = chain()
    late = at_least(p.d["t"], expr(p.d["t"].extent) // 2)
    assert needed(reader(p, p("s"), late), "y", "s") == {}


def test_a_recurrence_is_needed_at_every_step_before_the_one_that_is_read() -> None:
    p = chain()
    t = p.d["t"]
    first, later = (equal(t, 0), p("s")), (ALWAYS, p("s"))
    p.add("h", "t", "", [first, later])
    p.add("h", "t", "", [first, (ALWAYS, call("add", p("h", t=expr(t) - 1), p("s")))])
    reader(p, p("h"), at_least(t, expr(t.extent) // 2))
    assert needed(p, "y") == {}
    assert_right(p, {"T": STEPS})


def test_a_computed_step_may_be_any() -> None:
    p = chain()
    t = p.d["t"]
    any_step: Expr = expr(t) // 2
    reader(p, p("s", t=any_step), at_least(t, expr(t.extent) // 2))
    assert "s" not in needed(p, "y")
    assert_right(p, {"T": STEPS})


def test_a_slice_of_the_past_below_a_bound_is_needed_below_it() -> None:
    p = chain()
    t = p.d["t"]
    half = expr(t.extent) // 2
    n = Dim("n")
    p.a["n"], p.axes = n, {**p.axes, "n": expr(t) + 1}
    p.add("y", "t", "n", choose(at_least(half, t), p("s", t=n), 0.5), over="n")
    assert needed(p, "y")["s"] == at_least(half, t)


def test_a_slice_of_the_past_above_a_bound_is_needed_from_the_start() -> None:
    p = chain()
    t = p.d["t"]
    n = Dim("n")
    p.a["n"], p.axes = n, {**p.axes, "n": expr(t) + 1}
    p.add("y", "t", "n", choose(at_least(t, expr(t.extent) // 2), p("s", t=n), 0.5), over="n")
    assert "s" not in needed(p, "y")


def test_a_second_index_of_the_reader_is_not_mistaken_for_the_first() -> None:
    p = Builder("t u", {})
    t, u = p.d["t"], twin(p.d["t"])
    p.d["u"] = u
    p.add("x", "t", "", number(t))
    earlier = every(at_least(t, expr(u) + 1), at_least(expr(t.extent) - 1, expr(t) + expr(u)))
    p.add("y", "t u", "", [(earlier, p("x", t=expr(t) + expr(u))), (ALWAYS, 0.5)])
    p.outputs = ["y"]
    assert_right(p, {"T": STEPS})


def inner() -> Builder:
    """``h`` runs over t at every step i, and ``z`` reads where it ends."""
    p = Builder("i t", {"j": 4})
    p.input("x", "i", "j", {"I": STEPS})
    i, t = p.d["i"], p.d["t"]
    first = (equal(t, 0), p("x"))
    p.add("h", "i t", "j", [first, (ALWAYS, p("x"))])
    p.add("f", "i t", "j", p("h") * 0.5)
    p.add("h", "i t", "j", [first, (ALWAYS, p("f", i=i, t=expr(t) - 1))])
    p.add("z", "i", "j", p("h", t=expr(t.extent) - 1))
    p.outputs = ["y"]
    return p


def test_a_condition_passes_through_what_needs_itself() -> None:
    p = inner()
    third = equal(expr(p.d["i"]) % 3, 0)
    p.add("y", "i", "j", choose(third, p("z"), 0.0))
    assert needed(p, "y") == dict.fromkeys(("h", "f", "z"), third)
    assert_right(p, {"I": STEPS, "T": 5})


def test_a_condition_on_the_steps_of_a_recurrence_does_not() -> None:
    p = inner()
    p.add("y", "i", "j", choose(equal(expr(p.d["t"]) % 2, 0), p("h", t=p.d["t"]), 0.0), over="t")
    assert needed(p, "y") == {}


def test_two_readers_leave_what_both_ask_for() -> None:
    p = inner()
    i, t = p.d["i"], p.d["t"]
    even, early = equal(expr(i) % 2, 0), at_least(expr(i.extent) // 2, i)
    p.add("y", "i", "j", choose(every(even, early), p("z"), 0.0))
    p.add("w", "i", "j", choose(even, p("h", t=expr(t.extent) - 1), 0.0))
    found = needed(p, "y", "w")
    assert found["h"] == found["f"] == even and found["z"] == every(even, early)


def test_a_value_that_is_read_at_every_third_step_is_computed_there_only() -> None:
    p = Builder("i c", {"j": 4})
    p.input("x", "i", "j", {"I": STEPS})
    p.add("f", "i", "j", p("x") * p("x"))
    p.add("y", "c", "j", p("f", i=3 * expr(p.d["c"]) + 1))
    p.outputs = ["y"]
    assert needed(p, "y") == {"f": equal((expr(p.d["i"]) - 1) % 3, 0)}
    assert_right(p, {"I": STEPS, "C": 2})


def test_a_loop_is_left_out_as_a_whole() -> None:
    p = inner()
    third = equal(expr(p.d["i"]) % 3, 0)
    p.add("y", "i", "j", choose(third, p("z"), 0.0))
    lines = [line.strip() for line in show_plan(plan(p.system())).splitlines()]
    at = next(k for k, line in enumerate(lines) if line.startswith("for t"))
    assert lines[at - 1] == f"if {third}:" and not lines[at + 1].startswith("if")
