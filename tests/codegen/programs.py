"""Whole programs as systems: what rewriting and lowering would hand over."""

from __future__ import annotations

from collections.abc import Mapping

from ostinato.pdg.condition import ALWAYS, Cond, at_least, equal
from ostinato.pdg.index import expr
from tests.codegen.builder import Builder, V, call, choose, number

Sizes = Mapping[str, int]


def adam(p: Builder, axes: Mapping[str, str], rate: float = 0.01) -> None:
    """Parameters and both moments over ``i``; the gradient of ``x`` is called ``gx``."""
    i = p.d["i"]
    for n, ax in axes.items():
        p.add(f"m_{n}", "i", ax, 0.0, lanes="")
    for n, ax in axes.items():
        new = p(f"m_{n}") * 0.9 + p(f"g{n}") * 0.1
        p.add(f"mn_{n}", "i", ax, new, lanes="")
        before = p(f"mn_{n}", i=i - expr(1))
        first: list[tuple[Cond, V | float]] = [(equal(i, 0), 0.0), (ALWAYS, before)]
        p.add(f"m_{n}", "i", ax, first, lanes="")
        p.add(f"{n}_n", "i", ax, p(n) - p(f"mn_{n}") * rate, lanes="")
        p.add(
            n,
            "i",
            ax,
            [(equal(i, 0), p(f"{n}_in")), (ALWAYS, p(f"{n}_n", i=i - expr(1)))],
            lanes="",
        )


def parameters(p: Builder, axes: Mapping[str, str], sizes: Sizes) -> None:
    for n, ax in axes.items():
        p.input(f"{n}_in", "", ax, sizes)
    for n, ax in axes.items():
        p.add(n, "i", ax, 0.0, lanes="")


def reinforce(sizes: Sizes, hidden: int = 8, hints: Sizes | None = None) -> Builder:
    """A policy gradient: acting along ``t``, returns, advantages, backward pass, update."""
    p = Builder("b i t", {"f": 4, "a": 2, "h": hidden, "g": hidden}, hints or {})
    d, a = p.d, p.a
    t, points = d["t"], "b i t"
    params = {"W1": "f h", "b1": "h", "W2": "h g", "b2": "g", "W3": "g a", "b3": "a"}
    parameters(p, params, sizes)
    for c in range(4):
        p.add(f"nx{c}", points, "", 0.0)
    for c in range(4):
        start = p.draw(10 + c, points) * 0.1
        p.add(f"x{c}", points, "", [(equal(t, 0), start), (ALWAYS, p(f"nx{c}", t=t - expr(1)))])
    f = a["f"]
    state = choose(
        equal(f, 0), p("x0"), choose(equal(f, 1), p("x1"), choose(equal(f, 2), p("x2"), p("x3")))
    )
    p.add("X", points, "f", state)
    p.add("z1", points, "f h", p("X") * p("W1"), "matmul", "f")
    p.add("h1", points, "h", call("tanh", p("z1") + p("b1")))
    p.add("z2", points, "h g", p("h1") * p("W2"), "matmul", "h")
    p.add("h2", points, "g", call("tanh", p("z2") + p("b2")))
    p.add("z3", points, "g a", p("h2") * p("W3"), "matmul", "g")
    p.add("lg", points, "a", p("z3") + p("b3"))
    p.add("mx", points, "a", p("lg"), over="a", fold="max")
    p.add("e", points, "a", call("exp", p("lg") - p("mx")))
    p.add("se", points, "a", p("e"), over="a")
    p.add("p", points, "a", p("e") / p("se"))
    p.add(
        "act",
        points,
        "",
        call(
            "where",
            call("lt", p.draw(1, points), p("p", 1) - 0.5),
            p("x0") * 0.0 + 1.0,
            p("x0") * 0.0,
        ),
    )
    physics(p, points)
    returns(p, points)
    backward(p, points)
    adam(p, params)
    p.outputs = ["ret", "gW2", "W1"]
    return p


def physics(p: Builder, points: str) -> None:
    force = call("where", call("gt", p("act"), 0.5), p("x0") * 0.0 + 1.0, p("x0") * 0.0 - 1.0)
    p.add("force", points, "", force)
    p.add("acc", points, "", p("force") * 0.3 - call("sin", p("x2")) * 0.2)
    p.add("nx0", points, "", p("x0") + p("x1") * 0.1)
    p.add("nx1", points, "", p("x1") + p("acc") * 0.1)
    p.add("nx2", points, "", p("x2") + p("x3") * 0.1)
    p.add("nx3", points, "", p("x3") - p("acc") * 0.05)
    p.add("r", points, "", call("cos", p("x2")))


def returns(p: Builder, points: str) -> None:
    t = p.d["t"]
    last = equal(t, expr(t.extent) - 1)
    p.add("G", points, "", 0.0)
    p.add("G", points, "", [(last, p("r")), (ALWAYS, p("r") + p("G", t=t + expr(1)) * 0.9)])
    p.add("ret", "b i t", "", p("r"), over="b t")
    p.add("sG", "b i t", "", p("G"), over="b t")
    p.add("sGG", "b i t", "", p("G") * p("G"), over="b t")
    count = number(p.d["b"].extent) * number(t.extent)
    p.add("mean", "i", "", p("sG") / count)
    p.add(
        "istd",
        "i",
        "",
        call("add", call("sqrt", call("abs", p("sGG") / count - p("mean") * p("mean"))), 0.1),
    )
    p.add("adv", points, "", (p("G") - p("mean")) / p("istd") / count)


def backward(p: Builder, points: str) -> None:
    one_hot = call(
        "where", call("eq", number(p.a["a"]), p("act")), p("x0") * 0.0 + 1.0, p("x0") * 0.0
    )
    p.add("dL", points, "a", p("adv") * (p("p") - one_hot))
    p.add("gb3", points, "a", p("dL"), over="b t")
    p.add("gW3", points, "g a", p("h2") * p("dL"), "matmul", "b t")
    p.add("e2", points, "g a", p("dL") * p("W3"), "matmul", "a")
    p.add("d2", points, "g", p("e2") * (call("neg", p("h2") * p("h2")) + 1.0))
    p.add("gW2", points, "h g", p("h1") * p("d2"), "matmul", "b t")
    p.add("gb2", points, "g", p("d2"), over="b t")
    p.add("e1", points, "h g", p("d2") * p("W2"), "matmul", "g")
    p.add("d1", points, "h", p("e1") * (call("neg", p("h1") * p("h1")) + 1.0))
    p.add("gW1", points, "f h", p("X") * p("d1"), "matmul", "b t")
    p.add("gb1", points, "h", p("d1"), over="b t")


def toy() -> Builder:
    """A long scalar chain: forward, a window of three, backward, a sum, an iterated scale."""
    p = Builder("i t", {})
    i, t = p.d["i"], p.d["t"]
    p.add("kn", "i", "", 0.0, lanes="")
    p.add("x", "i t", "", 0.0, lanes="")
    p.add("G", "i t", "", 0.0, lanes="")
    p.add("k", "i", "", [(equal(i, 0), 1.0), (ALWAYS, p("kn", i=i - expr(1)))], lanes="")
    moved = p("x", t=t - expr(1)) * 0.9 + call("sin", number(t) * 0.1) * p("k")
    p.add("x", "i t", "", [(equal(t, 0), p("k")), (ALWAYS, moved)], lanes="")
    window = p("x") - p("x", t=t - expr(3))
    p.add("d", "i t", "", [(at_least(2, t), p("x")), (ALWAYS, window)], lanes="")
    p.add("q", "i t", "", p("d") * p("d") + p("x") * 0.1, lanes="")
    last = equal(t, expr(t.extent) - 1)
    p.add(
        "G", "i t", "", [(last, p("q")), (ALWAYS, p("q") + p("G", t=t + expr(1)) * 0.99)], lanes=""
    )
    p.add("s", "i t", "", p("G") * p("x"), over="t", lanes="")
    p.add("kn", "i", "", p("k") - p("s") * 0.001, lanes="")
    p.outputs = ["s"]
    return p


def gru(sizes: Sizes, hidden: int = 6, inputs: int = 3) -> Builder:
    """A gated recurrence forwards and its adjoint backwards, tiles of rows, updates over ``i``."""
    p = Builder("b i t", {"n": inputs, "h": hidden, "j": hidden})
    params = {f"{k}{g}": ("n h" if k == "V" else "j h") for g in "zc" for k in "VU"}
    parameters(p, params, sizes)
    points, t = "b i t", p.d["t"]
    p.add("x", points, "n", p.draw(5, points, p.a["n"]))
    p.add("hn", points, "h", 0.0)
    p.add("hp", points, "h", [(equal(t, 0), 0.0), (ALWAYS, p("hn", t=t - expr(1)))])
    for g in "zc":
        p.add(f"xv{g}", points, "n h", p("x") * p(f"V{g}"), "matmul", "n")
        p.add(f"hu{g}", points, "j h", p("hp", "j") * p(f"U{g}"), "matmul", "j")
    p.add("z", points, "h", call("sigmoid", p("huz") + p("xvz")))
    p.add("c", points, "h", call("tanh", p("huc") + p("xvc")))
    p.add("hn", points, "h", p("z") * p("hp") + (p("z") * -1.0 + 1.0) * p("c"))
    p.add("err", points, "h", p("hn"), over="h")
    p.add("loss", points, "", p("err") * p("err"), over="b t")
    last = equal(t, expr(t.extent) - 1)
    p.add("dhp", points, "h", 0.0)
    here = p("err") * 2.0 + p("hn") * 0.0
    p.add("dh", points, "h", [(last, here), (ALWAYS, here + p("dhp", t=t + expr(1)))])
    p.add("dc", points, "h", p("dh") * (p("z") * -1.0 + 1.0) * (p("c") * p("c") * -1.0 + 1.0))
    p.add("dz", points, "h", p("dh") * (p("hp") - p("c")) * p("z") * (p("z") * -1.0 + 1.0))
    for g in "zc":
        p.add(f"dU{g}", points, "j h", p(f"d{g}") * p(f"U{g}"), "matmul", "h")
    back = p("dUz", "h") + p("dUc", "h")
    p.add("dhp", points, "h", p("dh") * p("z") + back)
    for g in "zc":
        p.add(f"gU{g}", points, "j h", p("hp", "j") * p(f"d{g}"), "matmul", "b t")
        p.add(f"gV{g}", points, "n h", p("x") * p(f"d{g}"), "matmul", "b t")
    adam(p, params, 0.001)
    p.outputs = ["loss", "gUc"]
    return p
