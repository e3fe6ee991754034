"""Folds over ragged axes leave out what is beyond the end."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from ostinato.language.array import along, einsum, movement, reduction
from ostinato.language.array.dtypes import accepted, convert
from ostinato.language.array.elementwise import elementwise as node_elementwise
from ostinato.language.array.elementwise import select
from ostinato.language.array.movement import axes_of, axis_of
from ostinato.language.array.reduction import Axes
from ostinato.language.ragged import moves
from ostinato.language.ragged.mask import (
    WHOLE,
    Mask,
    Parts,
    folded,
    replaced,
    together,
    union,
    without,
)
from ostinato.language.ragged.operators import dense
from ostinato.language.tensor import Tensor, apply, as_tensor, elementwise, sources_of
from ostinato.pdg import build
from ostinato.pdg.axis_functions import AXIS_FUNCTIONS
from ostinato.pdg.build import ONE
from ostinato.pdg.constant import Scalar
from ostinato.pdg.functions import FLOATS, FOLDS, fold_unit
from ostinato.pdg.index import Expr, product
from ostinato.pdg.node import Dtype, Node
from ostinato.provenance.place import place


def made(node: Node, parts: Parts, like: Tensor, fill: Scalar | None = None) -> Tensor:
    return Tensor(node, like.sources, mask=Mask(parts, fill) if parts else WHOLE)


def _negative(x: Tensor, axis: Axes) -> frozenset[int]:
    return frozenset(k - x.ndim for k in axes_of(x.node, axis, place()))


def _met(x: Tensor, axes: frozenset[int]) -> Parts:
    return tuple(part for part in x.mask.parts if part.touches & axes)


def _as(x: Tensor, accepts: Sequence[Dtype]) -> Tensor:
    """The tensor in the first type that a function takes."""
    return apply(convert, x, accepted(x.dtype, accepts))


def reduce(fn: str, x: Tensor, axis: Axes = None, keepdims: bool = False) -> Tensor:
    """Return a fold of the live elements."""
    where, axes = place(), _negative(x, axis)
    operand, met = _as(x, FOLDS[fn].accepts), _met(x, axes)
    unit = fold_unit(fn, operand.dtype)
    node = dense(operand, unit, met)
    out = reduction.reduce(fn, node, axis, True, where)
    parts = folded(x.mask.parts, axes)
    fill = operand.mask.fill if operand.mask.fill == unit else None
    if met and parts and unit in (float("inf"), float("-inf")):
        out, fill = replaced(out, parts, 0, where), 0
    return _dropped(made(out, parts, x, fill), axes, keepdims)


def _dropped(x: Tensor, axes: frozenset[int], keepdims: bool) -> Tensor:
    """Drop the axes of size 1 that a fold leaves, unless they are kept."""
    if keepdims or not axes:
        return x
    shape = tuple(s for k, s in enumerate(x.node.shape) if k - x.ndim not in axes)
    node = build.reshape(x.node, shape, where=place())
    return made(node, without(x.mask.parts, axes), x, x.mask.fill)


def argument(fn: str, x: Tensor, axis: int | None, keepdims: bool = False) -> Tensor:
    """Return the position of the first extreme of the live elements along an axis."""
    if axis is None:
        return argument(fn, moves.reshape(x, (product(x.node.shape),)), 0, keepdims)
    where, axes = place(), _negative(x, axis)
    operand, met = _as(x, FOLDS[fn].accepts), _met(x, axes)
    if not met:
        out = reduction.reduce(fn, operand.node, axis, True, where)
        return _dropped(made(out, x.mask.parts, x), axes, keepdims)
    (k,) = axes
    node = dense(operand, fold_unit(fn, operand.dtype), met)
    # The first live element that is the extreme or NaN: where every live element is the unit, such
    # as -inf, the first extreme may be a dead one, and an axis may have no element at all.
    extreme = reduction.reduce(fn.removeprefix("arg"), node, k, True, where)
    found = node_elementwise("eq", node, extreme, where=where)
    if operand.dtype in FLOATS:
        found = node_elementwise("or", found, node_elementwise("ne", node, node, where=where))
    found = node_elementwise("and", together(met), found, where=where)
    out = reduction.reduce("argmax", convert(found, "int32"), k, True, where)
    return _dropped(made(out, folded(x.mask.parts, axes), x), axes, keepdims)


def mean(x: Tensor, axis: Axes = None, keepdims: bool = False) -> Tensor:
    """Return the mean of the live elements."""
    where, axes, operand = place(), _negative(x, axis), _as(x, FLOATS)
    met = _met(x, axes)
    if not met:
        out = reduction.mean(operand.node, axis, True, where)
        return _dropped(made(out, x.mask.parts, x), axes, keepdims)
    total = reduce("sum", operand, axis, True)
    live = together(met)
    each = reduction.reduce("sum", convert(live, operand.dtype), sorted(axes), True, where)
    repeated = [k for k in sorted(axes) if live.shape[k] == ONE and x.node.shape[k] != ONE]
    if repeated:
        size = reduction.count(x.node, repeated, operand.dtype)
        each = node_elementwise("mul", each, size, where=where)
    count = made(each, total.mask.parts, total)
    return _dropped(elementwise("div", total, count), axes, keepdims)


def variance(x: Tensor, axis: Axes = None, keepdims: bool = False) -> Tensor:
    """Return the mean squared distance of the live elements from their mean."""
    operand = _as(x, FLOATS)
    centred = elementwise("sub", operand, mean(operand, axis, True))
    return elementwise("mul", centred, centred).mean(axis, keepdims)


def _highest(x: Tensor, axis: Axes) -> Tensor:
    return elementwise("stop_gradient", x.max(axis, True))


def _powers(x: Tensor, axis: int) -> tuple[Tensor, Tensor]:
    operand = _as(x, FLOATS)
    shifted = elementwise("sub", operand, _highest(operand, axis))
    return shifted, elementwise("exp", shifted)


def softmax(x: Tensor, axis: int) -> Tensor:
    """Return exponentials divided by the sum of the live ones along an axis."""
    _, powers = _powers(x, axis)
    return elementwise("div", powers, powers.sum(axis, True))


def log_softmax(x: Tensor, axis: int) -> Tensor:
    """Return the logarithm of `softmax`."""
    shifted, powers = _powers(x, axis)
    return elementwise("sub", shifted, elementwise("log", powers.sum(axis, True)))


def logsumexp(x: Tensor, axis: Axes = None, keepdims: bool = False) -> Tensor:
    """Return the logarithm of the sum of the exponentials of the live elements."""
    operand = _as(x, FLOATS)
    top = _highest(operand, axis)
    finite = apply(select, elementwise("isfinite", top), top, 0.0)
    total = elementwise("exp", elementwise("sub", operand, finite)).sum(axis, True)
    out = elementwise("add", elementwise("log", total), finite)
    return _dropped(out, _negative(x, axis), keepdims)


def discounted_sum(x: Tensor, gamma: object) -> Tensor:
    """Return ``sum_k gamma**k * x[k]`` over the live steps of the leading axis."""
    axis_of(x.node, 0, place())
    operand, first = _as(x, FLOATS), frozenset((-x.ndim,))
    met = _met(x, first)
    node = dense(operand, 0, met)
    if isinstance(gamma, bool | int | float) and abs(gamma) <= 1:
        summed = apply(reduction.discounted_sum, Tensor(node, x.sources), gamma)
        return made(summed.node, without(folded(x.mask.parts, first), first), summed)
    # Powers of what may exceed 1 overflow far behind a short episode.
    weighted = apply(_weighted, Tensor(node, x.sources), gamma)
    return reduce("sum", made(weighted.node, x.mask.parts, weighted), 0)


def _weighted(x: Node, gamma: Node | float, where: str = "") -> Node:
    weights = reduction.discounts(x, gamma, where)
    return node_elementwise("mul", x, weights, where=where)


def cumulative(fn: str, x: Tensor, axis: int | None) -> Tensor:
    """Return a cumulative fold along an axis, to which dead elements add nothing."""
    if axis is None:
        return cumulative(fn, moves.reshape(x, (product(x.node.shape),)), 0)
    where, met = place(), _met(x, _negative(x, axis))
    if not met:
        return made(along.cumulative(fn, x.node, axis, where), x.mask.parts, x)
    operand = _as(x, AXIS_FUNCTIONS[fn].accepts)
    if fn == "logsumexp":  # -inf minus -inf, in the derivative, would have no value
        unit: Scalar = float(np.finfo(operand.dtype).min)
    else:
        unit = fold_unit(fn, operand.dtype)
    out = along.cumulative(fn, dense(operand, unit, met), axis, where)
    return made(replaced(out, x.mask.parts, 0, where), x.mask.parts, x, 0)


def linear_recurrence(gates: object, values: object, axis: int, reverse: bool = False) -> Tensor:
    """Return ``y[k] = values[k] + gates[k] * y[k - 1]``, which is 0 at dead elements."""
    given = [as_tensor(x) for x in (gates, values)]
    nodes = [dense(x, 0) for x in given]
    out = along.linear_recurrence(nodes[0], nodes[1], axis, reverse, place())
    parts = union([x.mask.parts for x in given], out.rank)
    return Tensor(out, sources_of(*given), mask=Mask(parts))


def scatter_add(updates: object, index: Tensor, size: Expr, axis: int) -> Tensor:
    """Return sums of live updates by their live positions."""
    given, where = as_tensor(updates), place()
    rank = max(given.ndim, index.ndim)
    parts = union([given.mask.parts, index.mask.parts], rank)
    live = replaced(given.node, parts, 0, where)
    places = dense(index, 0)
    out = along.scatter_add(live, places, size, axis, where)
    k = axis_of(live, axis, where) - live.rank
    kept = folded(parts, frozenset((k,)))
    return Tensor(out, sources_of(given, index), mask=Mask(kept) if kept else WHOLE)


def matmul(x: Tensor, y: Tensor) -> Tensor:
    """Return the matrix product, contracted over live positions."""
    if not x.ndim or not y.ndim:
        return apply(einsum.matmul, x.filled(0), y.filled(0))  # refused: a product of scalars
    left = moves.reshape(x, (ONE, *x.node.shape)) if x.ndim == 1 else x
    right = moves.reshape(y, (*y.node.shape, ONE)) if y.ndim == 1 else y
    rank = max(left.ndim, right.ndim)
    across, down = frozenset((-1,)), frozenset((-2,))
    a, b = dense(left, 0, _met(left, across)), dense(right, 0, _met(right, down))
    out = apply(einsum.matmul, Tensor(a, x.sources), Tensor(b, y.sources))
    parts = (*folded(left.mask.parts, across), *folded(right.mask.parts, down))
    product_ = made(out.node, tuple(part.padded(rank) for part in parts), out)
    if x.ndim == 1:
        product_ = apply(movement.squeeze, product_, -2)
    return apply(movement.squeeze, product_, -1) if y.ndim == 1 else product_


Handler = Callable[..., Tensor]
FOLDING: dict[object, Handler] = {
    reduction.reduce: reduce,
    reduction.argument: argument,
    reduction.mean: mean,
    reduction.variance: variance,
    reduction.softmax: softmax,
    reduction.log_softmax: log_softmax,
    reduction.logsumexp: logsumexp,
    reduction.discounted_sum: discounted_sum,
    along.cumulative: cumulative,
    along.linear_recurrence: linear_recurrence,
    along.scatter_add: scatter_add,
    einsum.matmul: matmul,
}
