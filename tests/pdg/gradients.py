"""Gradients against central differences in the reference interpreter, in float64."""

from collections.abc import Mapping, Sequence

import numpy as np

from ostinato.pdg import build
from ostinato.pdg.functions import Array
from ostinato.pdg.grad.reverse import Gradients, gradient
from ostinato.pdg.index import Dim, ExprLike, Extent, Slice, evaluate, expr
from ostinato.pdg.interpret import interpret
from ostinato.pdg.node import Equation, Input, Node, Pdg

B, T = Dim("b"), Dim("t")
b, t = expr(B), expr(T)
rows, n = expr(B.extent), expr(T.extent)
EXTENTS: Mapping[str, int] = {"B": 2, "T": 5}
STEP = 1e-6  # the error of a central difference is then about 1e-10, relative to values near 1


def source(name: str, *shape: int, over: Sequence[Dim] = ()) -> Node:
    """A float64 input."""
    return build.input_node(name, tuple(map(expr, shape)), "float64", over)


def number(value: float) -> Node:
    return build.const(value, "float64")


def f(fn: str, *args: Node) -> Node:
    return build.map_node(fn, args)


def mul(x: Node, y: Node) -> Node:
    return f("mul", x, y)


def at(x: Node, index: ExprLike | Slice) -> Node:
    """``x`` at another step of ``t``: an expression or a slice."""
    return build.read(x, [(T, index if isinstance(index, Slice) else expr(index))])


def shifted(x: Node, by: int) -> Node:
    return at(x, t + by)


def window(x: Node, lo: ExprLike, hi: ExprLike) -> Node:
    return at(x, Slice(expr(lo), expr(hi)))


def total(x: Node) -> Node:
    """The sum over all steps and axes."""
    all_steps = [(d, Slice(expr(0), expr(d.extent))) for d in x.domain]
    wide = build.read(x, all_steps)
    return build.reduce_node("sum", wide, range(-wide.rank, 0))


def weighed(x: Node) -> Node:
    """A loss that tells all elements apart: a weighted sum of ``sin x``."""
    return total(mul(f("sin", x), build.input_node("weights", x.shape, "float64", x.domain)))


def draw(node: Node, extents: Mapping[str, int], positive: bool) -> Array:
    sizes: dict[Dim | Extent, int] = {Extent(name): k for name, k in extents.items()}
    lead = [extents[d.symbol.name] for d in node.domain]
    shape = (*lead, *(evaluate(s, sizes) for s in node.shape))
    name = str(node.op)
    values = np.random.default_rng(sum(map(ord, name))).normal(size=shape)
    return np.asarray(np.abs(values) + 0.3 if positive else values)


def check(
    loss: Node,
    wrt: Sequence[Node],
    *equations: Equation,
    extents: Mapping[str, int] = EXTENTS,
    positive: bool = False,
) -> Gradients:
    """Compare with central differences along a random direction of each input in ``wrt``."""
    known = {str(e.rec): e for e in equations}
    found = gradient(loss, wrt, known)
    assert not known.keys() & found.equations.keys()
    outputs = (("loss", loss), *((f"g{k}", g) for k, g in enumerate(found.nodes)))
    graph = Pdg(outputs, {**known, **found.equations})
    inputs = {
        node.op.name: draw(node, extents, positive)
        for node in graph.nodes()
        if isinstance(node.op, Input)
    }
    results = interpret(graph, extents, inputs)
    for k, x in enumerate(wrt):
        assert isinstance(x.op, Input)
        value = inputs[x.op.name]
        way = np.random.default_rng(k).normal(size=value.shape)
        sides = [
            interpret(Pdg(outputs[:1], known), extents, {**inputs, x.op.name: value + h * way})
            for h in (STEP, -STEP)
        ]
        slope = (sides[0]["loss"] - sides[1]["loss"]) / (2 * STEP)
        missing = tuple(slice(None) if d in found.nodes[k].domain else None for d in x.domain)
        exact = np.sum(results[f"g{k}"][missing] * way)
        np.testing.assert_allclose(exact, slope, rtol=1e-6, atol=1e-7)
    return found
