"""Movement takes the mask along."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ostinato.language.array import movement
from ostinato.language.array.dtypes import convert, promote
from ostinato.language.array.movement import axis_of
from ostinato.language.ragged.mask import (
    WHOLE,
    Live,
    Mask,
    Parts,
    permuted,
    replaced,
    reshaped,
    together,
    union,
)
from ostinato.language.tensor import Tensor, sources_of
from ostinato.pdg import build
from ostinato.pdg.build import ONE, Shape
from ostinato.pdg.constant import Scalar
from ostinato.pdg.index import Expr, Slice
from ostinato.pdg.node import Node
from ostinato.provenance.place import place


def settled(node: Node, parts: Sequence[Live], fill: Scalar | None, *operands: Tensor) -> Tensor:
    """Return a result; an element without a ragged axis around it is 0 where it is dead."""
    done = tuple(part for part in parts if not part.ragged)
    kept = tuple(part for part in parts if part.ragged)
    if done and fill != 0:
        node, fill = replaced(node, done, 0, place()), None
    return Tensor(node, sources_of(*operands), mask=Mask(kept, fill) if kept else WHOLE)


def reshape(x: Tensor, shape: Sequence[Expr]) -> Tensor:
    return _reshaped(x, movement.reshape(x.node, shape, where=place()))


def _reshaped(x: Tensor, node: Node) -> Tensor:
    parts = [reshaped(part, x.node.shape, node.shape) for part in x.mask.parts]
    return settled(node, parts, x.mask.fill, x)


def expand(x: Tensor, axis: int) -> Tensor:
    k = axis_of(x.node, axis, place(), extra=1)
    node = movement.expand(x.node, axis, where=place())
    parts: list[Live] = []
    for part in x.mask.parts:
        shape = (*part.node.shape[:k], ONE, *part.node.shape[k:])
        ragged = frozenset(a - (x.ndim + a < k) for a in part.ragged)
        parts.append(Live(build.reshape(part.node, shape), ragged))
    return settled(node, parts, x.mask.fill, x)


def squeeze(x: Tensor, axis: int | Sequence[int] | None) -> Tensor:
    return _reshaped(x, movement.squeeze(x.node, axis, where=place()))


def transpose(x: Tensor, axes: Sequence[int] | None) -> Tensor:
    node = movement.transpose(x.node, axes, where=place())
    order = range(x.ndim)[::-1] if axes is None else [axis_of(x.node, a, "") for a in axes]
    parts = [permuted(part, tuple(order)) for part in x.mask.parts]
    return settled(node, parts, x.mask.fill, x)


def swap(x: Tensor, first: int, second: int) -> Tensor:
    order = list(range(x.ndim))
    a, b = (axis_of(x.node, axis, place()) for axis in (first, second))
    order[a], order[b] = order[b], order[a]
    return transpose(x, order)


def broadcast_to(x: Tensor, shape: Sequence[Expr]) -> Tensor:
    node = movement.broadcast_to(x.node, shape, where=place())
    parts = [part.padded(node.rank) for part in x.mask.parts]
    return settled(node, parts, x.mask.fill, x)


def _along(x: Tensor, axis: int, moved: Callable[[Node], Node]) -> list[Live]:
    """The parts after a movement of one axis (negative), which those without it ignore."""
    return [
        Live(moved(part.node), part.ragged) if axis in part.touches else part
        for part in x.mask.parts
    ]


def flip(x: Tensor, axis: int) -> Tensor:
    where, k = place(), axis_of(x.node, axis, place())
    parts = _along(x, k - x.ndim, lambda node: movement.flip(node, k, where))
    return settled(movement.flip(x.node, k, where), parts, x.mask.fill, x)


def part(x: Tensor, axis: int, at: Expr | Slice) -> Tensor:
    """Return one index, or a slice, of an axis counted from the left."""
    where, k = place(), axis - x.ndim
    node = movement.part(x.node, axis, at, where)
    if isinstance(at, Slice):
        parts = _along(x, k, lambda mask: build.part(mask, k, at, where))
    else:
        parts = [_indexed(live, k, at) for live in x.mask.parts]
    return settled(node, parts, x.mask.fill, x)


def _indexed(live: Live, k: int, at: Expr) -> Live:
    if k in live.touches:
        node = build.part(live.node, k, at)
    else:
        shape = live.node.shape
        node = build.reshape(live.node, (*shape[: len(shape) + k], *shape[len(shape) + k + 1 :]))
    return Live(node, frozenset(a + (a < k) for a in live.ragged - {k}))


def take(x: Tensor, index: Tensor, axis: int) -> Tensor:
    """Return positions of an axis, which the axes of the index replace."""
    where, left = place(), axis_of(x.node, axis, place())
    node = movement.take(x.node, index.node, left, where)
    k, behind, new = left - x.ndim, x.ndim - 1 - left, index.ndim
    parts: list[Live] = []
    for live in x.mask.parts:
        ragged = {a if a > k else a - new + 1 for a in live.ragged - {k}}
        if k in live.ragged:
            ragged |= {-1 - behind - j for j in range(new)}
        shape = live.node.shape
        thin = (*shape[:left], *(ONE,) * new, *shape[left + 1 :])
        moved = (
            movement.take(live.node, index.node, left, where)
            if k in live.touches
            else build.reshape(live.node, thin)
        )
        parts.append(Live(moved, frozenset(ragged)))
    for live in index.mask.parts:
        trailing = (*live.node.shape, *(ONE,) * behind)
        ragged = {a - behind for a in live.ragged}
        wide = Live(build.reshape(live.node, trailing), frozenset(ragged))
        parts.append(wide.padded(node.rank))
    fill = x.mask.fill if not index.mask.parts else None
    return settled(node, parts, fill, x, index)


def take_along(x: Tensor, index: Tensor, axis: int) -> Tensor:
    """Return positions of an axis, one for each place of the other axes."""
    where, k = place(), axis_of(x.node, axis, place()) - x.ndim
    node = movement.take_along(x.node, index.node, axis, where)
    parts = _along(x, k, lambda mask: build.gather(mask, index.node, k, where))
    fill = x.mask.fill if not index.mask.parts else None
    return settled(node, [*parts, *index.mask.parts], fill, x, index)


def concatenate(several: Sequence[Tensor], axis: int) -> Tensor:
    """Return tensors joined along an axis; those without a mask are all live."""
    where = place()
    dtype = promote((x.dtype for x in several), where)
    nodes = [convert(x.node, dtype, where=where) for x in several]
    node = movement.concatenate(nodes, axis, where)
    k = axis_of(several[0].node, axis, where) - node.rank
    masks = [x.mask.parts for x in several]
    fills = {x.mask.fill for x in several}
    fill = next(iter(fills)) if len(fills) == 1 else None
    common = [p for p in masks[0] if k not in p.touches and all(p in m for m in masks)]
    rest = [tuple(p for p in mask if p not in common) for mask in masks]
    parts = list(common)
    if any(rest):
        sides = [_side(x, mask, rest, k) for x, mask in zip(several, rest, strict=True)]
        ragged = frozenset[int]().union(*(p.ragged for mask in rest for p in mask))
        parts.append(Live(build.concat(sides, k), ragged | {k}))
    return settled(node, parts, fill, *several)


def _side(x: Tensor, mask: Parts, every: Sequence[Parts], k: int) -> Node:
    """Where one operand of a join is live, in the shape that all of them have."""
    touched = frozenset({k}).union(*(p.touches for parts in every for p in parts))
    shape: Shape = tuple(s if a - x.ndim in touched else ONE for a, s in enumerate(x.node.shape))
    live = together(union([mask], x.ndim)) if mask else build.const(True, "bool", (ONE,) * x.ndim)
    return movement.broadcast_to(live, shape, place())


def stack(several: Sequence[Tensor], axis: int) -> Tensor:
    """Return tensors of one shape joined along a new axis."""
    where = place()
    same = movement.broadcast_together([x.node for x in several], where)
    wide = [broadcast_to(x, node.shape) for x, node in zip(several, same, strict=True)]
    k = axis_of(same[0], axis, where, extra=1)
    return concatenate([expand(x, k) for x in wide], k)


MOVING: dict[object, Callable[..., Tensor]] = {
    movement.reshape: reshape,
    movement.expand: expand,
    movement.squeeze: squeeze,
    movement.transpose: transpose,
    movement.swap: swap,
    movement.broadcast_to: broadcast_to,
    movement.flip: flip,
    movement.part: part,
    movement.take: take,
    movement.take_along: take_along,
}
