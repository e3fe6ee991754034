"""One position of a spatial axis, taken through views and elementwise functions to the source.

``exp(x[0:T])`` at position ``t`` becomes ``exp(x[t])``: the reverse of a vectorised expression is
again an expression for one point.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from ostinato.pdg.arithmetic import squeezed
from ostinato.pdg.build import (
    ONE,
    affine,
    broadcast,
    case,
    const,
    map_node,
    matmul,
    part,
    read,
    reduce_node,
    reshape,
    transpose,
)
from ostinato.pdg.constant import uniform
from ostinato.pdg.functions import POSITIONS
from ostinato.pdg.index import Expr, Slice, expr
from ostinato.pdg.node import (
    Broadcast,
    Case,
    Const,
    Custom,
    Iota,
    Map,
    Matmul,
    Node,
    Read,
    Reduce,
    Reshape,
    Transpose,
)


def element(x: Node, axis: int, at: Expr, where: str = "") -> Node:
    """Return position ``at`` of an axis (negative), which disappears.

    An axis of size 1 gives its only element, whatever ``at`` is: it may be thin.
    """
    return _Walk(where).take(x, axis, at)


@dataclass(frozen=True, slots=True)
class _Walk:
    where: str
    known: dict[tuple[Node, int, Expr], Node] = field(
        default_factory=dict[tuple[Node, int, Expr], Node]
    )

    def take(self, x: Node, axis: int, at: Expr) -> Node:
        at = expr(0) if x.shape[axis] == ONE else at
        key = (x, axis, at)
        if key not in self.known:
            inner = self.inside(x, axis, at)
            self.known[key] = part(x, axis, at, self.where) if inner is None else inner
        return self.known[key]

    def inside(self, x: Node, axis: int, at: Expr) -> Node | None:
        """The element as a function of elements of the operands, where the operator allows it."""
        match x.op:
            case Const(values) if uniform(values):
                return const(values[0], x.dtype, _without(x.shape, axis))
            case Iota():
                return affine(at)
            case Custom():
                return None  # its derivative is of the whole value
            case Map(fn):
                return map_node(fn, [self.take(a, axis, at) for a in x.args], x.dtype, self.where)
            case Case(cond):
                left, right = (self.take(a, axis, at) for a in x.args)
                return case(cond, left, right, self.where)
            case Broadcast(shape):
                kept = _without(shape, axis) if axis >= -len(shape) else shape
                return broadcast(self.take(x.args[0], axis, at), kept, self.where)
            case Transpose(perm) if axis >= -len(perm):
                gone = perm[axis]
                rest = [p for k, p in enumerate(perm) if k - len(perm) != axis]
                moved = [p if p > gone else p + 1 for p in rest]
                return transpose(self.take(x.args[0], gone, at), moved, self.where)
            case Reduce(fn, axes) if fn not in POSITIONS:
                place = [k for k in range(-x.args[0].rank, 0) if k not in axes][axis]
                inner = self.take(x.args[0], place, at)
                kept_axes = [a + 1 if a < place else a for a in axes]
                return reduce_node(fn, inner, kept_axes, self.where)
            case Matmul():
                return self.inside_matmul(x, axis, at)
            case Reshape():
                return self.inside_reshape(x, axis, at)
            case Read():
                return self.inside_read(x, x.op, axis, at)
            case _:
                return None

    def inside_matmul(self, x: Node, axis: int, at: Expr) -> Node:
        left, right = x.args
        if axis < -2:
            left, right = self.take(left, axis, at), self.take(right, axis, at)
            return matmul(left, right, self.where)
        line = self.take(left if axis == -2 else right, axis, at)
        size = line.shape[-1]
        thin = (ONE, size) if axis == -2 else (size, ONE)
        line = reshape(line, thin, 1, self.where)
        product = matmul(*((line, right) if axis == -2 else (left, line)), where=self.where)
        return reshape(product, _without(product.shape, axis), where=self.where)

    def inside_reshape(self, x: Node, axis: int, at: Expr) -> Node | None:
        inner, rest = x.args[0], _without(x.shape, axis)
        if x.shape[axis] == ONE:
            return reshape(inner, rest, where=self.where)
        if squeezed(x.shape) != squeezed(inner.shape):
            return None
        place = len(squeezed(x.shape[: axis + x.rank]))
        thick = [k - inner.rank for k, s in enumerate(inner.shape) if s != ONE]
        return reshape(self.take(inner, thick[place], at), rest, where=self.where)

    def inside_read(self, x: Node, op: Read, axis: int, at: Expr) -> Node | None:
        sliced = [(d, index) for d, index in op.at if isinstance(index, Slice)]
        place = axis + x.rank
        if place >= len(sliced):
            return None
        dim, steps = sliced[place]
        assert isinstance(steps, Slice), f"{x} reads {dim} at {steps}"
        entries = [(d, steps.lo + at * steps.step if d == dim else index) for d, index in op.at]
        return read(x.args[0], entries, self.where)


def _without(shape: tuple[Expr, ...], axis: int) -> tuple[Expr, ...]:
    return tuple(size for k, size in enumerate(shape) if k - len(shape) != axis)
