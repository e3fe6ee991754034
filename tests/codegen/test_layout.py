"""The order of axes in memory: that of what a map reads."""

from ostinato.codegen.cpu.cpu_target import CPU
from ostinato.codegen.systems.layout import lay_out
from ostinato.pdg.index import expr
from tests.codegen.builder import Builder, call
from tests.codegen.compare import assert_right


def order(p: Builder, name: str) -> list[str]:
    return [str(a.index) for a in lay_out(p.statements, CPU, {*p.outputs})[name].axes]


def products() -> Builder:
    """What a product leaves over positions, channels last, and a bias of the channels."""
    p = Builder("", {"h": 9, "w": 7, "c": 8, "k": 6})
    p.input("x", "", "h w k", {})
    p.input("weight", "", "k c", {})
    p.input("bias", "", "c", {})
    p.add("m", "", "h w c k", p("x") * p("weight"), "matmul", "k")
    return p


def test_a_map_lies_as_what_it_reads() -> None:
    p = products()
    p.add("y", "", "c h w", p("m", "h", "w", "c") + p("bias", "c"))
    p.add("z", "", "c h w", call("maximum", p("y", "c", "h", "w"), 0.0))
    p.add("most", "", "c h w", call("abs", p("z", "c", "h", "w")), "fold", "h w", "max")
    p.outputs = ["most"]
    assert order(p, "y") == order(p, "z") == ["h", "w", "c"]
    assert_right(p, {})


def test_a_result_lies_as_it_is_asked_for() -> None:
    p = products()
    p.add("y", "", "c h w", p("m", "h", "w", "c") + p("bias", "c"))
    p.add("z", "", "c h w", call("maximum", p("y", "c", "h", "w"), 0.0))
    p.outputs = ["z"]
    assert order(p, "y") == order(p, "z") == ["c", "h", "w"]
    assert_right(p, {})


def test_a_fold_of_unrolled_axes_lies_as_what_it_reads() -> None:
    p = Builder("", {"h": 10, "w": 7, "c": 8, "o": 5, "q": 2})
    p.input("x", "", "h w c", {})
    o, q = p.a["o"], p.a["q"]
    p.add("y", "", "c o w q", p("x", expr(o) * 2 + q, "w", "c"), "fold", "q", "max")
    p.add("z", "", "c o w", p("y", "c", "o", "w"), "fold", "o w", "sum")
    p.outputs = ["z"]
    assert order(p, "y") == ["q", "o", "w", "c"]
    assert_right(p, {})


def test_a_map_keeps_its_order_where_as_much_lies_along_it() -> None:
    p = products()
    p.input("mask", "", "c h w", {})
    p.add("y", "", "c h w", p("m", "h", "w", "c") * p("mask", "c", "h", "w"))
    p.outputs = ["y"]
    assert order(p, "y") == ["c", "h", "w"]
    assert_right(p, {})


def test_unrolled_axes_stay_first() -> None:
    p = Builder("", {"h": 9, "w": 7, "c": 3})
    p.input("x", "", "h w c", {})
    p.add("y", "", "c h w", p("x", "h", "w", "c") + 1.0)
    p.outputs = ["y"]
    assert order(p, "y") == ["c", "h", "w"]
    assert_right(p, {})
