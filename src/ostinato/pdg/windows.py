"""Windows of a spatial axis, positions ``o * stride + k * dilation``: a gather, and its reverse.

The index is an expression of two counters, so lowering reads the windows where they are and copies
nothing. The reverse adds up the windows that overlap: position ``i`` collects, for each ``k``, the
window ``o = (i - k * dilation) / stride`` if there is one.
"""

from __future__ import annotations

from dataclasses import dataclass

from ostinato.pdg.arithmetic import Algebra
from ostinato.pdg.build import (
    ONE,
    affine,
    const,
    gather,
    iota,
    map_node,
    part,
    reduce_node,
    reshape,
)
from ostinato.pdg.index import Expr, Slice, expr, product
from ostinato.pdg.intervals import interval
from ostinato.pdg.node import Const, Gather, Iota, Map, Node, Reshape


@dataclass(frozen=True, slots=True)
class Window:
    """``count`` windows of ``size`` positions each."""

    count: Expr
    size: Expr
    stride: int
    dilation: int

    @property
    def are_apart(self) -> bool:
        """Whether no position is in two windows, and each has its places side by side."""
        return self.dilation == 1 and self.size.is_const and self.size.const <= self.stride


def windows(x: Node, axis: int, window: Window, where: str = "") -> Node:
    """Return ``x`` with an axis (negative) replaced by two: which window, and where in it."""
    flat = product((window.count, window.size))
    after = (ONE,) * (-1 - axis)
    index = reshape(_index(window), (*(ONE,) * (x.rank + axis), flat, *after))
    taken = gather(x, index, axis, where)
    keep = x.rank + axis
    shape = (*x.shape[:keep], window.count, window.size, *x.shape[keep + 1 :])
    return reshape(taken, shape, where=where)


def _index(window: Window) -> Node:
    """The position of each element of each window, (count, size)."""
    starts = map_node("mul", [iota(window.count), const(window.stride, "int32", (ONE,))])
    steps = map_node("mul", [iota(window.size), const(window.dilation, "int32", (ONE,))])
    return map_node("add", [reshape(starts, (window.count, ONE)), steps])


def window_of(node: Node) -> Window | None:
    """The windows that a gather takes, if `windows` made it."""
    if not isinstance(node.op, Gather):
        return None
    index = node.args[1]
    while isinstance(index.op, Reshape):
        index = index.args[0]
    if not (isinstance(index.op, Map) and index.op.fn == "add"):
        return None
    first, second = map(_counter, index.args)
    if first is None or second is None:
        return None
    found = Window(first[0], second[0], first[1], second[1])
    last = (found.count - 1) * found.stride + (found.size - 1) * found.dilation
    if max(found.stride, found.dilation, interval(last).high) >= 2**31:
        return None  # positions that wrap around are no windows
    return found if _index(found) == index else None


def _counter(x: Node) -> tuple[Expr, int] | None:
    """The size and the factor of ``iota * factor``."""
    while isinstance(x.op, Reshape):
        x = x.args[0]
    match x:
        case Node(op=Map("mul"), args=(Node(op=Iota(size)), Node(op=Const((int(factor),))))):
            return size, factor
        case _:
            return None


def overlap_add(node: Node, axis: int, window: Window, up: Node) -> Node:
    """Return the adjoint of the operand of a gather of windows."""
    a, size = Algebra(node.where), node.args[0].shape[axis]
    keep = up.rank + axis
    shape = (*up.shape[:keep], window.count, window.size, *up.shape[keep + 1 :])
    parts = reshape(up, shape, where=node.where)
    if window.are_apart:
        return _side_by_side(a, parts, axis, window, size)
    after = (ONE,) * (-1 - axis)

    def aligned(x: Node) -> Node:
        return reshape(x, (*(ONE,) * keep, size, window.size, *after))

    steps = map_node("mul", [iota(window.size), const(window.dilation, "int32", (ONE,))])
    start = a.map("sub", reshape(iota(size), (size, ONE)), steps)
    stride = const(window.stride, "int32", (ONE, ONE))
    which = a.map("floordiv", start, stride)
    last, zero = affine(window.count), const(0, "int32", (ONE, ONE))
    inside = a.map("and", a.map("ge", start, zero), a.map("lt", which, last))
    if window.stride > 1:
        begins = a.map("eq", a.map("mod", start, stride), zero)
        inside = a.map("and", inside, begins)
    last_one = a.map("sub", last, const(1, "int32", (ONE, ONE)))
    near = a.map("minimum", a.map("maximum", which, zero), last_one)  # others give 0 below
    taken = gather(parts, aligned(near), axis - 1, node.where)
    kept = a.map("where", aligned(inside), taken, a.number(0, taken))
    return reduce_node("sum", kept, [axis], node.where)


def _side_by_side(a: Algebra, parts: Node, axis: int, window: Window, size: Expr) -> Node:
    """What windows that are apart say of every position: zero between them and behind the last."""
    keep = parts.rank + axis - 1
    parts = a.padded(parts, axis, expr(0), window.stride - window.size)
    length = window.count * window.stride
    flat = reshape(parts, (*parts.shape[:keep], length, *parts.shape[keep + 2 :]), where=a.where)
    missing = size - length
    if not missing.is_const:
        missing = expr(window.stride)  # as many, or fewer
    if missing.const > 0:
        flat, length = a.padded(flat, axis, expr(0), missing), length + missing
    return flat if length == size else part(flat, axis, Slice(expr(0), size), a.where)
