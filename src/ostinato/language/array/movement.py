"""Shapes: reshape, transpose, broadcasting, joining, and taking parts."""

from __future__ import annotations

from collections.abc import Sequence

from ostinato.language.array.dtypes import convert, promote
from ostinato.pdg import build
from ostinato.pdg.build import ONE, Shape, broadcast_shapes, no_axis, pad_rank
from ostinato.pdg.errors import ShapeError
from ostinato.pdg.grad import axis_adjoints
from ostinato.pdg.index import Expr, Slice, expr, factors, product
from ostinato.pdg.naming import called, show_shape
from ostinato.pdg.node import Node


def axis_of(x: Node, axis: int, where: str, extra: int = 0) -> int:
    """Return an axis counted from the left; ``extra`` axes are about to be added."""
    rank = x.rank + extra
    if -rank <= axis < rank:
        return axis % rank
    raise no_axis(x, axis, rank, where)


def axes_of(x: Node, axis: int | Sequence[int] | None, where: str) -> tuple[int, ...]:
    """Return axes counted from the left, ascending; None means all."""
    if axis is None:
        return tuple(range(x.rank))
    given = (axis,) if isinstance(axis, int) else axis
    return tuple(sorted({axis_of(x, a, where) for a in given}))


def reshape(x: Node, shape: Sequence[Expr], where: str = "") -> Node:
    """Return ``x`` row-major in another shape, in which one size may be -1."""
    sizes = tuple(shape)
    unknown = [k for k, s in enumerate(sizes) if s == expr(-1)]
    if len(unknown) > 1:
        raise ShapeError(f"shape {show_shape(sizes)}", "Leave at most one size as -1.", where)
    if unknown:
        k = unknown[0]
        rest = _quotient(x, (*sizes[:k], *sizes[k + 1 :]), where)
        sizes = (*sizes[:k], rest, *sizes[k + 1 :])
    return build.reshape(x, sizes, where=where)


def _quotient(x: Node, sizes: Sequence[Expr], where: str) -> Expr:
    """The size of the axis that takes what the other axes leave."""
    total, found = factors(x.shape)
    count, others = factors(sizes)
    left = list(found)
    for factor in others:
        if factor in left:
            left.remove(factor)
        else:
            count = 0
    if count == 0 or total % count:
        fact = f"{called(x)} of shape {show_shape(x.shape)} split by {show_shape(tuple(sizes))}"
        raise ShapeError(fact, "Give every size; -1 cannot be worked out here.", where)
    return product((total // count, *left))


def expand(x: Node, axis: int, where: str = "") -> Node:
    """Return ``x`` with a new axis of size 1."""
    k = axis_of(x, axis, where, extra=1)
    return build.reshape(x, (*x.shape[:k], ONE, *x.shape[k:]), where=where)


def squeeze(x: Node, axis: int | Sequence[int] | None, where: str = "") -> Node:
    """Return ``x`` without some axes of size 1 (default: all of them)."""
    if axis is None:
        drop = tuple(k for k, s in enumerate(x.shape) if s == ONE)
    else:
        drop = axes_of(x, axis, where)
    for k in drop:
        if x.shape[k] != ONE:
            fact = f"axis {k} of {called(x)} has size {x.shape[k]}"
            raise ShapeError(fact, "Only axes of size 1 can be squeezed.", where)
    return build.reshape(x, tuple(s for k, s in enumerate(x.shape) if k not in drop), where=where)


def transpose(x: Node, axes: Sequence[int] | None, where: str = "") -> Node:
    """Return ``x`` with axes permuted (default: reversed)."""
    order = tuple(range(x.rank))[::-1] if axes is None else axes
    perm = tuple(axis_of(x, a, where) - x.rank for a in order)
    return build.transpose(x, perm, where) if x.rank else x


def swap(x: Node, first: int, second: int, where: str = "") -> Node:
    """Return ``x`` with two axes exchanged."""
    order = list(range(x.rank))
    a, b = axis_of(x, first, where), axis_of(x, second, where)
    order[a], order[b] = order[b], order[a]
    return transpose(x, order, where)


def broadcast_to(x: Node, shape: Sequence[Expr], where: str = "") -> Node:
    """Return ``x`` repeated to a shape, NumPy style."""
    if x.rank > len(shape):
        fact = f"{called(x)} of shape {show_shape(x.shape)} broadcast to {show_shape(shape)}"
        raise ShapeError(fact, "The shape needs at least as many axes.", where)
    return build.broadcast(pad_rank(x, len(shape)), tuple(shape), where)


def broadcast_together(args: Sequence[Node], where: str = "") -> tuple[Node, ...]:
    """Return operands repeated to their common shape."""
    rank = max(a.rank for a in args)
    shapes: list[Shape] = [(*(ONE,) * (rank - a.rank), *a.shape) for a in args]
    common = broadcast_shapes(shapes, args, "broadcast", where)
    return tuple(broadcast_to(a, common, where) for a in args)


def concatenate(args: Sequence[Node], axis: int, where: str = "") -> Node:
    """Return tensors joined along an axis, in their common type."""
    if not args:
        raise ShapeError("concatenation of nothing", "Give at least one tensor.", where)
    dtype = promote((a.dtype for a in args), where)
    k = axis_of(args[0], axis, where) - args[0].rank
    return build.concat([convert(a, dtype, where=where) for a in args], k, where)


def stack(args: Sequence[Node], axis: int, where: str = "") -> Node:
    """Return tensors of one shape joined along a new axis."""
    if not args:
        raise ShapeError("stack of nothing", "Give at least one tensor.", where)
    same = broadcast_together(args, where)
    k = axis_of(same[0], axis, where, extra=1)
    return concatenate([expand(a, k, where) for a in same], k, where)


def flip(x: Node, axis: int, where: str = "") -> Node:
    """Return ``x`` with an axis in reverse order."""
    return axis_adjoints.flip(x, axis_of(x, axis, where) - x.rank, where)


def take(x: Node, index: Node, axis: int, where: str = "") -> Node:
    """Return ``x`` at integer positions along an axis, which the axes of ``index`` replace.

    Positions outside the axis are clamped to it.
    """
    k = axis_of(x, axis, where)
    count = product(index.shape)
    flat = build.reshape(index, (count, *(ONE,) * (x.rank - 1 - k)), where=where)
    taken = build.gather(x, pad_rank(flat, x.rank), k - x.rank, where)
    return build.reshape(taken, (*x.shape[:k], *index.shape, *x.shape[k + 1 :]), where=where)


def take_along(x: Node, index: Node, axis: int, where: str = "") -> Node:
    """Return ``x`` at one position along an axis for each place of the other axes."""
    k = axis_of(x, axis, where) - x.rank
    return build.gather(x, index, k, where)


def part(x: Node, axis: int, at: Expr | Slice, where: str = "") -> Node:
    """Return one index, or a slice, of an axis counted from the left."""
    return build.part(x, axis - x.rank, at, where)
