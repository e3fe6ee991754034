"""Equal statements are computed once, where one loop has both."""

from dataclasses import replace

from ostinato.codegen.planning.plan import Plan
from ostinato.codegen.planning.within_limit import Room, fitted
from ostinato.pdg.condition import ALWAYS, equal
from ostinato.pdg.index import Extent, expr
from tests.codegen.builder import Builder, V, call
from tests.codegen.compare import assert_computes, assert_right
from tests.codegen.on_cpu import options

SIZES = {"B": 5, "T": 4}


def played(also: bool = True) -> Builder:
    """A recurrence, and the values that its step is made of as a history of their own."""
    p = Builder("b t", {"h": 6})
    t = p.d["t"]
    p.input("w", "", "h", {})
    p.add("x", "b t", "h", 0.0)
    p.add("f", "b t", "h", call("tanh", p("x") * p("w") - 1.0))
    p.add("g", "b t", "h", p("f") * 0.5 + p.draw(3, "b t", p.a["h"]))
    p.add("x", "b t", "h", [(equal(t, 0), p("w") * 1.0), (ALWAYS, p("g", t=expr(t) - 1))])
    if also:
        p.add("low", "b t", "h", p("x") * p("w") - 1.0)
        p.add("f_again", "b t", "h", call("tanh", p("low")))
        p.add("out", "b t", "h", p("f_again") * 0.5 + p.draw(3, "b t", p.a["h"]))
        p.add("more", "b t", "h", p("low") + p("f_again"))
    p.outputs = ["out", "more"] if also else ["x"]
    return p


def computed(planned: Plan) -> set[str]:
    return {n for n, s in planned.statements.items() if s.kind != "input"}


def test_a_recurrence_whose_history_is_read_computes_its_body_once() -> None:
    planned = assert_right(played(), SIZES, {"b": 2})
    assert computed(planned) == {"x", "f", "low", "out", "more"}
    assert planned.same == {"f_again": "f", "g": "out"}


def test_what_copies_a_value_does_not_take_its_place() -> None:
    p = played()
    p.statements["f"] = replace(p.statements["f"], label="")
    p.add("copy", "b t", "h", p("f"))
    p.add("seen", "b t", "h", p("copy") * 2.0)
    p.outputs.append("seen")
    planned = assert_right(p, SIZES, {"b": 2})
    assert planned.same["g"] == "out" and "copy" not in planned.same.values()


def test_without_equal_statements_nothing_is_dropped() -> None:
    assert assert_right(played(also=False), SIZES).same == {}


def twice(first: V, second: V, p: Builder) -> Plan:
    p.add("one", "t", "h", first)
    p.add("two", "t", "h", second)
    p.add("out", "t", "h", call("sin", p("one")) - p("two") * call("cos", p("one")) * p("two"))
    p.outputs = ["out"]
    return assert_right(p, SIZES)


def test_draws_of_two_operators_stay_two() -> None:
    p = Builder("t", {"h": 6})
    assert not twice(p.draw(1, "t", p.a["h"]), p.draw(2, "t", p.a["h"]), p).same


def test_draws_of_one_operator_become_one() -> None:
    p = Builder("t", {"h": 6})
    assert twice(p.draw(1, "t", p.a["h"]), p.draw(1, "t", p.a["h"]), p).same == {"two": "one"}


def test_zeros_of_other_signs_are_other_values() -> None:
    p = Builder("t", {"h": 6})
    p.input("x", "t", "h", SIZES)
    assert not twice(p("x") * 0.0, p("x") * -0.0, p).same


def test_positions_that_are_read_crosswise_are_other_values() -> None:
    p = Builder("t", {"h": 6, "k": 6})
    p.input("x", "t", "h k", SIZES)
    p.add("one", "t", "h k", p("x") * 2.0)
    p.add("two", "t", "h k", p("x", "k", "h") * 2.0)
    p.add("out", "t", "h k", p("one") - call("sin", p("two")) * p("two") * p("one"))
    p.outputs = ["out"]
    assert not assert_right(p, SIZES).same


def there_and_back() -> Builder:
    """Two equal values, one on the way there, one on the way back."""
    p = Builder("t", {"h": 6})
    t, last = expr(p.d["t"]), expr(Extent("T")) - 1
    p.input("x", "t", "h", SIZES)
    for name, start, step in (("there", equal(t, 0), -1), ("back", equal(t, last), 1)):
        p.add(f"{name}_e", "t", "h", call("exp", p("x")))
        p.add(name, "t", "h", 0.0)
        more = p(f"{name}_e") * p(f"{name}_e")
        cases = [(start, more), (ALWAYS, p(name, t=t + step) * 0.5 + more)]
        p.add(name, "t", "h", cases)
    p.add("out", "", "h", p("there", t=last) + p("back", t=0))
    p.outputs = ["out"]
    return p


def test_a_value_of_another_loop_is_not_kept_for_an_equal_one() -> None:
    assert not assert_right(there_and_back(), SIZES).same


def test_two_equal_outputs_are_both_there() -> None:
    p = played()
    p.add("twin", "b t", "h", p("f_again") * 0.5 + p.draw(3, "b t", p.a["h"]))
    p.outputs.append("twin")
    assert {"out", "twin"} <= computed(assert_right(p, SIZES))


def test_equal_statements_are_one_also_where_a_limit_asks_for_less() -> None:
    p = played()
    p.add("back", "b t", "h", 0.0)
    t, last = expr(p.d["t"]), expr(Extent("T")) - 1
    step = p("back", t=t + 1) + p("f_again") * p("f")
    p.add("back", "b t", "h", [(equal(t, last), p("f")), (ALWAYS, step)])
    p.outputs = ["back"]
    room = Room(1, SIZES, lambda planned, extents: 1)
    planned = fitted(p.system(), options({"b": 2}), room)
    assert_computes(p.system(), SIZES, p.arrays, planned)


def test_names_of_the_user_stay() -> None:
    p = played()
    p.statements["f"] = replace(p.statements["f"], label="")
    assert "f_again" in computed(assert_right(p, SIZES))
