"""Forms of products, copies, epilogues, axis order."""

from dataclasses import replace

from ostinato.codegen.planning import plan as planning
from ostinato.codegen.planning.plan import Plan
from ostinato.pdg.condition import ALWAYS, equal
from ostinato.pdg.index import expr
from tests.codegen.builder import Builder, Cases, call, number
from tests.codegen.compare import assert_right, contraction
from tests.codegen.on_cpu import options, plan
from tests.codegen.programs import reinforce

SIZES = {"B": 7, "T": 3}


def layer(weight: str, out: str = "g", over: str = "h") -> Builder:
    """``z = x @ W`` for rows ``b``; 24 inputs, 20 outputs."""
    p = Builder("b t", {"h": 24, "g": 20, "a": 2})
    p.add("x", "b t", "h", number(p.d["b"]) * 0.1 + number(p.a["h"]))
    p.input("W", "", weight, {})
    p.add("z", "b t", f"{out} {over}", p("x") * p("W"), "matmul", over)
    p.outputs = ["z"]
    return p


def test_contiguous_columns_are_computed_by_broadcasting() -> None:
    planned = assert_right(layer("h g"), SIZES)
    assert contraction(planned, "z").form == "broadcast"
    assert list(planned.statements) == ["x", "W", "z"]


def test_a_transposed_operand_is_copied_outside_all_loops() -> None:
    planned = assert_right(layer("g h"), SIZES)
    assert contraction(planned, "z").form == "broadcast"
    assert planned.statements["W_t"].dims == ()


def test_few_columns_are_dots_into_a_layout_with_rows_innermost() -> None:
    p = layer("a h", "a")
    planned = assert_right(p, SIZES)
    leaf = contraction(planned, "z")
    assert leaf.form == "dots"
    assert [str(a.index) for a in planned.statements["z"].result_axes] == ["a", "b_i"]


def test_an_exact_product_adds_its_terms_in_order() -> None:
    p = layer("a h", "a")
    planned = planning.plan(p.system(), replace(options(), exact=True))
    assert contraction(planned, "z").form != "dots"


def test_a_sum_over_several_axes_stays_in_registers() -> None:
    p = Builder("b t", {"r": 2, "h": 8, "g": 20, "u": 3, "v": 2})
    b, r, h, u, v = p.d["b"], p.a["r"], p.a["h"], p.a["u"], p.a["v"]
    p.add("x", "b t", "r u v h", number(b) * 0.1 + number(h) * number(u) - number(v) * number(r))
    p.input("W", "", "v u h g", {})
    p.add("z", "b t", "r g u v h", p("x") * p("W"), "matmul", "u v h")
    p.outputs = ["z"]
    planned = assert_right(p, SIZES)
    found = contraction(planned, "z")
    assert found.accumulate and found.k.index == h and found.form == "broadcast"
    assert {a.index for a in found.summed(planned.statements["z"].reduced)} == {u, v}


def test_a_product_that_is_no_product_of_loads_is_a_fold() -> None:
    p = layer("h g")
    p.add("z", "b t", "g h", p("x") * p("W") * 0.5, "matmul", "h")
    assert assert_right(p, SIZES).statements["z"].kind == "fold"


def chained(p: Builder) -> Plan:
    p.input("bias", "", "g", {})
    p.add("y", "b t", "g", call("tanh", p("z") + p("bias")))
    p.add("d", "b t", "g", p("y") * p("z") * 0.5)
    p.outputs = ["d"]
    return assert_right(p, SIZES)


def test_an_elementwise_chain_joins_its_product() -> None:
    planned = chained(layer("h g"))
    assert contraction(planned, "z").epilogues == ("y", "d")
    assert planned.storage["z"].place == planned.storage["y"].place == "register"


def test_a_value_that_needs_the_product_itself_does_not_join() -> None:
    p = layer("h g")
    p.add("m", "b t", "g", p("z"), over="g", fold="max")
    p.add("y", "b t", "g", p("z") - p("m"))
    p.outputs = ["y"]
    assert contraction(assert_right(p, SIZES), "z").epilogues == ()


def test_a_value_that_may_need_the_product_at_its_own_point_does_not_join() -> None:
    p = layer("h g")
    p.add("first", "b t", "g", p("z", t=expr(0)) * 0.5)
    p.add("y", "b t", "g", p("z") - p("first"))
    p.outputs = ["y"]
    assert contraction(assert_right(p, SIZES), "z").epilogues == ()


def test_the_step_before_may_join() -> None:
    p = layer("h g")
    t = p.d["t"]
    p.add("y", "b t", "g", 0.0)
    before: Cases = [(equal(t, 0), 0.0), (ALWAYS, p("y", t=t - expr(1)))]
    p.add("last", "b t", "g", before)
    p.add("y", "b t", "g", p("z") * 0.1 + p("last") * 0.5)
    p.outputs = ["y"]
    assert contraction(assert_right(p, SIZES), "z").epilogues == ("y",)


def test_an_integer_product_is_a_fold() -> None:
    p = Builder("b", {"h": 24, "g": 20})
    p.add("x", "b", "h", call("cast", number(p.a["h"]), dtype="int32"), dtype="int32")
    p.add("w", "", "h g", call("cast", number(p.a["g"]), dtype="int32"), dtype="int32")
    p.add("z", "b", "g h", p("x") * p("w"), "matmul", "h", dtype="int32")
    p.outputs = ["z"]
    assert assert_right(p, {"B": 3}).statements["z"].kind == "fold"


def test_weight_gradients_accumulate_over_steps_per_tile() -> None:
    planned = plan(reinforce({"I": 1}, 64).system())
    leaf = contraction(planned, "gW2_part")
    assert leaf.accumulate
    assert leaf.k.index.name == "b_i"
    assert [s.dim.name for s in planned.storage["gW2_part"].slots] == ["b_o", "i"]
