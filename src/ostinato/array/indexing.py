"""``x[...]``: temporal positions first, then spatial ones."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from ostinato.array.movement import expand, part, take, transpose
from ostinato.dims import Condition, check_index, is_integer, lift
from ostinato.pdg import build
from ostinato.pdg.errors import DomainError, DtypeError, ShapeError
from ostinato.pdg.index import Dim, Expr, ExprLike, Index, Slice, expr
from ostinato.pdg.naming import called
from ostinato.pdg.node import Node


def index(x: Node, over: Sequence[Dim], items: Sequence[object], where: str = "") -> Node:
    """Return ``x[items]``; what stands after an Ellipsis indexes the last spatial axes."""
    found = [k for k, item in enumerate(items) if item is Ellipsis]
    if len(found) > 1:
        raise ShapeError(f"{called(x)} is indexed with two `...`", "Write one.", where)
    head = tuple(items[: found[0]] if found else items)
    tail = tuple(items[found[0] + 1 :] if found else ())
    temporal, spatial = head[: len(over)], head[len(over) :]
    pairs = [(d, position(item, d, x, where)) for d, item in zip(over, temporal, strict=False)]
    return _spatial(read(x, pairs, where), _slices(pairs), spatial, tail, where)


def read(x: Node, pairs: Sequence[tuple[Dim, Index]], where: str = "") -> Node:
    """Return ``x`` at another point; slices prepend axes in the order in which they are given."""
    out = build.read(x, pairs, where)
    sliced = [dim for dim, at in pairs if isinstance(at, Slice)]
    made = sorted(sliced, key=lambda dim: dim.serial)
    if sliced == made:
        return out
    order = [made.index(dim) for dim in sliced]
    return transpose(out, (*order, *range(len(order), out.rank)), where)


def _slices(pairs: Sequence[tuple[Dim, Index]]) -> int:
    return sum(isinstance(at, Slice) for _, at in pairs)


def position(item: object, dim: Dim, x: Node, where: str) -> Index:
    """Return one temporal position; a negative constant counts from the end."""
    if isinstance(item, slice):
        return bounded(cast("slice[object, object, object]", item), dim.extent, x, where)
    if isinstance(item, Node):
        fact = f"{called(x)} is read at a step of `{dim}` that is computed by {called(item)}"
        remedy = f"Slice `{dim}` and take from the axis: x[:].take(index, axis=0)."
        raise DomainError(fact, remedy, where)
    at = lift(item)
    if at is None:
        what = "a condition" if isinstance(item, Condition) else repr(item)
        fact = f"{called(x)} is read at {what} along dimension `{dim}`"
        remedy = "Use an index expression, an integer or a slice; spatial positions come later."
        raise DomainError(fact, remedy, where)
    return _from_end(check_index(at, "index"), dim.extent)


def _from_end(at: Expr, extent: ExprLike) -> Expr:
    return at + expr(extent) if at.is_const and at.const < 0 else at


def bounded(item: slice[object, object, object], extent: ExprLike, x: Node, where: str) -> Slice:
    """Return a slice; open ends are 0 and the extent, the step is a positive constant."""
    step = 1 if item.step is None else item.step
    if not is_integer(step) or step < 1:
        remedy = "Use a positive integer; `ot.flip` reverses an axis."
        raise ShapeError(f"slice of {called(x)} with step {step}", remedy, where)
    ends: list[Expr] = []
    for bound, default in ((item.start, expr(0)), (item.stop, expr(extent))):
        at = default if bound is None else lift(bound)
        if at is None:
            remedy = "Use integers and index expressions."
            raise DtypeError(f"slice of {called(x)} has the bound {bound!r}", remedy, where)
        ends.append(_from_end(check_index(at, "bound"), extent))
    return Slice(ends[0], ends[1], int(step))


def _spatial(
    x: Node, start: int, head: Sequence[object], tail: Sequence[object], where: str
) -> Node:
    """Index the axes from ``start``, and those that ``tail`` counts from the right."""
    used = [sum(item is not None for item in items) for items in (head, tail)]
    if sum(used) > x.rank - start:
        fact = (
            f"{called(x)} has {x.rank - start} spatial axes and gets {sum(used)} spatial positions"
        )
        remedy = "Temporal positions come first, one per dimension, then spatial ones."
        raise ShapeError(fact, remedy, where)
    out, axis = x, start
    for items in (head, tail):
        if items is tail:
            axis = out.rank - used[1]
        for item in items:
            out, axis = _spatial_step(out, axis, item, where)
    return out


def _spatial_step(x: Node, axis: int, item: object, where: str) -> tuple[Node, int]:
    """Index one axis; return the result and the next axis."""
    if item is None:
        return expand(x, axis, where), axis + 1
    if isinstance(item, Node):
        return take(x, item, axis, where), axis + item.rank
    size = x.shape[axis]
    if isinstance(item, slice):
        range_ = bounded(cast("slice[object, object, object]", item), size, x, where)
        return part(x, axis, _clamped(range_, size), where), axis + 1
    at = lift(item)
    if at is None:
        fact = f"{called(x)} is indexed by {item!r}"
        remedy = "Use integers, slices, None, index expressions or an integer tensor."
        raise DtypeError(fact, remedy, where)
    return part(x, axis, _from_end(check_index(at, "index"), size), where), axis


def _clamped(at: Slice, size: Expr) -> Slice:
    """A constant slice of a constant axis, cut to the axis as NumPy does."""
    if not (size.is_const and at.lo.is_const and at.hi.is_const):
        return at
    lo, hi, _ = slice(at.lo.const, at.hi.const).indices(size.const)
    return Slice(expr(lo), expr(max(lo, hi)), at.step)
