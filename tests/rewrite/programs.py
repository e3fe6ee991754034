"""Programs built from nodes, small enough to evaluate by the interpreter."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from ostinato.pdg import build
from ostinato.pdg.condition import at_least, equal
from ostinato.pdg.index import Dim, Expr, Extent, Slice, evaluate, expr
from ostinato.pdg.node import Equation, Input, Node, Pdg, Random

Values = dict[str, npt.NDArray[Any]]

B, ITERATION, T = Dim("b"), Dim("i"), Dim("t")


def whole(dim: Dim) -> Slice:
    return Slice(expr(0), expr(dim.extent))


def add(x: Node, y: Node) -> Node:
    return build.map_node("add", [x, y])


def mul(x: Node, y: Node) -> Node:
    return build.map_node("mul", [x, y])


def const(value: float) -> Node:
    return build.const(value, "float32")


def floats(name: str, shape: tuple[int, ...] = (), *over: Dim) -> Node:
    return build.input_node(name, tuple(map(expr, shape)), "float32", over)


def chain() -> Pdg:
    """``tanh(2 x + 1)`` at every point of t."""
    x = floats("x", (3,), T)
    return Pdg((("y", build.map_node("tanh", [add(mul(x, const(2.0)), const(1.0))])),), {})


def rows(x: Node) -> Node:
    """A vector as a matrix of one row."""
    return build.reshape(x, (expr(1), *x.shape))


def vector(x: Node) -> Node:
    """The row of a matrix of one row."""
    return build.reshape(x, x.shape[-1:], 2)


def mean_of_squares(x: Node, *dims: Dim) -> Node:
    """The mean over dims of the sum of squares."""
    total = build.reduce_node("sum", mul(x, x), [-1])
    every = build.read(total, [(d, whole(d)) for d in dims])
    count = build.const(1.0, "float32")
    for d in dims:
        size = build.map_node("cast", [build.affine(d.extent)], "float32")
        count = mul(count, size)
    return build.map_node("div", [build.reduce_node("sum", every, range(-len(dims), 0)), count])


def rollout() -> Pdg:
    """A linear recurrence over t of a batch b, and its weight gradient over all points."""
    w = floats("w", (3, 3))
    h = build.rec("h", (expr(3),), "float32", (B, T))
    x = floats("x", (3,), B, T)
    before = build.read(h, [(T, expr(T) - 1)])
    step = build.map_node("tanh", [add(vector(build.matmul(rows(before), w)), x)])
    equation = Equation(h, ((equal(T, 0), x), (at_least(T, 1), step)))
    outer = build.matmul(build.transpose(rows(h), (-1, -2)), rows(mul(h, x)))
    gradient = build.reduce_node("sum", build.read(outer, [(B, whole(B)), (T, whole(T))]), [-4, -3])
    return Pdg((("h", h), ("g", gradient), ("loss", mean_of_squares(h, B, T))), {"h": equation})


def training() -> Pdg:
    """A policy of two layers that acts for T steps in B copies, updated I times by its gradient."""
    w = build.rec("w", (expr(4), expr(5)), "float32", (ITERATION,))
    start = floats("start", (4, 5))
    s = build.rec("s", (expr(4),), "float32", (B, ITERATION, T))
    z = build.map_node("tanh", [vector(build.matmul(rows(s), w))])
    draw = build.random_node(Random("uniform", 1), (expr(4),), "float32", (B, ITERATION, T))
    moved = add(build.part(z, -1, Slice(expr(0), expr(4))), draw)
    nxt = build.map_node("sub", [moved, mul(s, const(0.5))])
    begin = build.random_node(Random("normal", 2), (expr(4),), "float32", (B, ITERATION))
    dz = mul(z, build.map_node("sub", [const(1.0), mul(z, z)]))
    outer = build.matmul(build.transpose(rows(s), (-1, -2)), rows(dz))
    summed = build.reduce_node("sum", build.read(outer, [(B, whole(B)), (T, whole(T))]), [-4, -3])
    step = build.map_node("sub", [w, mul(summed, const(0.01))])
    back = build.read(step, [(ITERATION, expr(ITERATION) - 1)])
    previous = build.read(nxt, [(T, expr(T) - 1)])
    equations = {
        "w": Equation(w, ((equal(ITERATION, 0), start), (at_least(ITERATION, 1), back))),
        "s": Equation(s, ((equal(T, 0), begin), (at_least(T, 1), previous))),
    }
    return Pdg((("loss", mean_of_squares(z, B, T)), ("w", w)), equations)


def up_to(x: Node) -> Node:
    """``x[:t + 1]``."""
    return build.read(x, [(T, Slice(expr(0), expr(T) + 1))])


def rest(x: Node) -> Node:
    """``x[t:]``."""
    return build.read(x, [(T, Slice(expr(T), expr(T.extent)))])


def leading(fold: str, x: Node) -> Node:
    return build.reduce_node(fold, x, [-x.rank])


def running() -> Pdg:
    """Folds over prefixes of a vector, of a masked one, and of its squares."""
    x = floats("x", (3,), B, T)
    y = floats("y", (), T)
    folds = tuple((fold, leading(fold, up_to(x))) for fold in ("sum", "max", "min", "prod"))
    squares = leading("sum", mul(up_to(y), up_to(y)))
    positive = build.map_node("gt", [up_to(y), build.const(0.0, "float32", (expr(1),))])
    scaled = mul(up_to(y), build.const(2.0, "float32", (expr(1),)))
    masked = leading("max", build.map_node("where", [positive, scaled, up_to(y)]))
    return Pdg((*folds, ("squares", squares), ("masked", masked)), {})


def powers(size: Expr, rank: int) -> Node:
    """``0.9 ** k`` along a leading axis, with further axes of size 1."""
    steps = build.map_node("cast", [build.iota(size)], "float32")
    weights = build.map_node("pow", [const(0.9), steps])
    return build.reshape(weights, (size, *(expr(1),) * (rank - 1)))


def returns() -> Pdg:
    """Discounted and plain sums over what is left, of numbers and of vectors."""
    r = floats("r", (), B, T)
    v = floats("v", (2,), T)
    discounted = leading("sum", mul(rest(r), powers(rest(r).shape[0], 1)))
    vectors = leading("sum", mul(rest(v), powers(rest(v).shape[0], 2)))
    total = build.reduce_node("sum", build.read(discounted, [(B, whole(B)), (T, whole(T))]), [0, 1])
    return Pdg(
        (("g", discounted), ("v", vectors), ("s", leading("sum", rest(v))), ("m", total)), {}
    )


def attention() -> Pdg:
    """Scores of a query against the projections of all inputs so far."""
    x = floats("x", (3,), T)
    w, q = floats("w", (3, 2)), floats("q", (2, 1))
    keys = build.matmul(up_to(x), w)
    weights = build.map_node("exp", [build.matmul(keys, q)])
    top = leading("sum", mul(weights, up_to(x)))
    return Pdg((("a", build.map_node("div", [top, leading("sum", weights)])),), {})


ALL = {
    "chain": chain,
    "rollout": rollout,
    "training": training,
    "running": running,
    "returns": returns,
    "attention": attention,
}


def arguments(pdg: Pdg, extents: dict[str, int], rng: np.random.Generator) -> Values:
    """Random values for every input of a program."""
    out: Values = {}
    for node in pdg.nodes():
        if isinstance(node.op, Input):
            point: dict[Dim | Extent, int] = {d.symbol: extents[d.symbol.name] for d in pdg.dims()}
            sizes = [extents[d.symbol.name] for d in node.domain]
            sizes += [evaluate(s, point) for s in node.shape]
            out[node.op.name] = rng.normal(size=sizes)
    return out
