"""Arithmetic on nodes that keeps adjoint graphs tidy: units vanish, constants fold, views dissolve.

Values here may be *thin*: an axis of size 1 stands for an axis of any size and broadcasts, so the
reverse of a sum allocates nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ostinato.pdg.build import (
    ONE,
    Shape,
    affine,
    broadcast,
    case,
    concat,
    const,
    map_node,
    pad_rank,
    reduce_node,
    reshape,
)
from ostinato.pdg.condition import ALWAYS, Cond
from ostinato.pdg.constant import spelled, uniform
from ostinato.pdg.index import Expr, expr, product
from ostinato.pdg.node import Broadcast, Const, Dtype, Map, Node, Reshape, Transpose

_VIEWS = Broadcast | Reshape | Transpose
_FOLDED: dict[str, Callable[[float, float], float]] = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
}


def fill(x: Node) -> float | None:
    """The number that fills a literal array, or None."""
    while isinstance(x.op, _VIEWS):
        x = x.args[0]
    if not isinstance(x.op, Const) or not uniform(x.op.values):
        return None
    return float(x.op.values[0])


def zeros(shape: Shape, dtype: Dtype, where: str = "") -> Node:
    """Return zeros; a size that depends on the point gives the node its domain."""
    if not any(size.dims for size in shape):
        return const(0, dtype, shape)
    return broadcast(const(0, dtype, (ONE,) * len(shape)), shape, where)


def full(x: Node, shape: Shape, where: str = "") -> Node:
    """Repeat the thin axes among the last ``len(shape)``."""
    tail = x.shape[x.rank - len(shape) :]
    known = fill(x)
    target = tuple(s if t == ONE else t for s, t in zip(shape, tail, strict=True))
    if known is not None and spelled(known) == "0.0" and len(tail) == x.rank and target != tail:
        return zeros(target, x.dtype, where)
    return broadcast(x, target, where)


def squeezed(shape: Sequence[Expr]) -> tuple[Expr, ...]:
    """The sizes other than 1."""
    return tuple(size for size in shape if size != ONE)


@dataclass(frozen=True, slots=True)
class Algebra:
    """Constructors of nodes that all stand for one place of the user's program."""

    where: str = ""

    def number(self, value: float, like: Node) -> Node:
        return const(value, like.dtype, (ONE,) * like.rank)

    def counts(self, size: int, like: Node) -> Node:
        """0, 1, ..., size - 1 along one axis."""
        return const([float(k) for k in range(size)], like.dtype, (expr(size),))

    def fill(self, x: Node) -> float | None:
        return fill(x)

    def cast(self, a: Node, dtype: Dtype) -> Node:
        return map_node("cast", [a], dtype, self.where)

    def map(self, fn: str, *args: Node) -> Node:
        """An elementwise function; an operand that was only repeated broadcasts by itself."""
        rank = max(a.rank for a in args)
        shapes = [pad_rank(a, rank).shape for a in args]
        lean: list[Node] = list(args)
        for k, a in enumerate(args):
            rest = [s for j, s in enumerate(shapes) if j != k]
            if isinstance(a.op, Broadcast) and rest:
                own = pad_rank(a.args[0], rank).shape
                pairs = enumerate(zip(shapes[k], own, strict=True))
                if all(s == o or any(r[j] == s for r in rest) for j, (s, o) in pairs):
                    lean[k], shapes[k] = a.args[0], own
        return map_node(fn, lean, where=self.where)

    def _folded(self, fn: str, a: Node, b: Node) -> Node | None:
        x, y = fill(a), fill(b)
        if x is None or y is None:
            return None
        return const(_FOLDED[fn](x, y), a.dtype, (ONE,) * max(a.rank, b.rank))

    def add(self, a: Node, b: Node) -> Node:
        if fill(a) == 0:
            return b
        if a == b:
            return self.scale(a, 2)
        return a if fill(b) == 0 else self.map("add", a, b)

    def sub(self, a: Node, b: Node) -> Node:
        return self._folded("sub", a, b) or self.map("sub", a, b)

    def mul(self, a: Node, b: Node) -> Node:
        folded = self._folded("mul", a, b)
        if folded is not None:
            return folded
        for x, y in ((a, b), (b, a)):
            known = fill(x)
            if known == 1 and y.rank >= x.rank:
                return y
            if known == 0:
                return const(0, y.dtype, (ONE,) * max(a.rank, b.rank))
            if known == -1 and y.rank >= x.rank:
                return self.neg(y)
        return self.map("mul", a, b)

    def scale(self, a: Node, by: float) -> Node:
        return self.mul(a, self.number(by, a))

    def div(self, a: Node, b: Node) -> Node:
        if fill(a) == 0 or (fill(b) == 1 and a.rank >= b.rank):
            return a
        return self.map("div", a, b)

    def neg(self, a: Node) -> Node:
        known = fill(a)
        if known is not None:
            return const(-known, a.dtype, (ONE,) * a.rank)
        if isinstance(a.op, Map) and a.op.fn == "neg":
            return a.args[0]
        return self.map("neg", a)

    def choose(self, cond: Node, a: Node, b: Node) -> Node:
        """``where``: elementwise choice by a boolean tensor."""
        known = fill(a)
        other = fill(b)
        same = known is not None and other is not None and spelled(known) == spelled(other)
        return a if same else self.map("where", cond, a, b)

    def times_size(self, a: Node, size: Expr) -> Node:
        """Sum of ``size`` equal terms."""
        if size.is_const:
            return self.scale(a, float(size.const))
        return self.mul(a, self.cast(affine(size), a.dtype))

    def sum(self, a: Node, axes: Sequence[int], sizes: Shape) -> Node:
        """Sum over axes, which disappear; ``sizes`` are their true sizes where ``a`` is thin."""
        count = expr(1)
        for axis, size in zip(axes, sizes, strict=True):
            if a.shape[axis] == ONE:
                count = product((count, size))
        thick = [axis for axis in axes if a.shape[axis] != ONE]
        kept = reduce_node("sum", a, thick, self.where)
        shape = tuple(s for k, s in enumerate(a.shape) if k - a.rank not in axes)
        return self.times_size(reshape(kept, shape, where=self.where), count)

    def fit(self, a: Node, here: Shape, there: Shape) -> Node:
        """Undo broadcasting: an adjoint of shape ``here`` as one of an operand's shape ``there``.

        All three have equal rank; the axes that are 1 in the operand only are summed.
        """
        rank = len(there)
        a = pad_rank(a, rank)
        axes = [k - rank for k in range(rank) if there[k] == ONE != here[k]]
        if not axes:
            return a
        summed = self.sum(a, axes, tuple(here[k] for k in axes))
        shape = tuple(ONE if k - rank in axes else s for k, s in enumerate(a.shape))
        return reshape(summed, shape, where=self.where)

    def expand(self, a: Node, axes: Sequence[int]) -> Node:
        """Insert axes of size 1; ``axes`` are negative and count in the result."""
        rank = a.rank + len(axes)
        sizes = iter(a.shape)
        shape = tuple(ONE if k - rank in axes else next(sizes) for k in range(rank))
        first = min(axes) + rank
        return reshape(a, shape[first:], a.rank - first, self.where)

    def switch(self, cond: Cond, a: Node) -> Node:
        """``a`` where the condition on the point holds, zero elsewhere."""
        if cond == ALWAYS or fill(a) == 0:
            return a
        return case(cond, a, zeros(a.shape, a.dtype, self.where), self.where)

    def concat(self, args: Sequence[Node], axis: int) -> Node:
        return concat([a for a in args if a.shape[axis] != expr(0)], axis, self.where)

    def padded(self, a: Node, axis: int, before: Expr, behind: Expr) -> Node:
        """Return ``a`` with zeros at both ends of an axis, which is negative."""
        k = a.rank + axis
        shapes = [(*a.shape[:k], size, *a.shape[k + 1 :]) for size in (before, behind)]
        first, last = (zeros(shape, a.dtype, a.where) for shape in shapes)
        return self.concat([first, a, last], axis)
