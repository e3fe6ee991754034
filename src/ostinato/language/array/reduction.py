"""Folds over axes, and the functions built on them."""

from __future__ import annotations

from collections.abc import Sequence

from ostinato.language.array.dtypes import accepted, convert
from ostinato.language.array.elementwise import elementwise, select
from ostinato.language.array.movement import axes_of, axis_of
from ostinato.pdg import build
from ostinato.pdg.build import ONE
from ostinato.pdg.functions import FLOATS, FOLDS
from ostinato.pdg.index import Expr, product
from ostinato.pdg.node import Dtype, Node

Axes = int | Sequence[int] | None


def reduce(fn: str, x: Node, axis: Axes = None, keepdims: bool = False, where: str = "") -> Node:
    """Return a fold over axes (default: all); ``keepdims`` leaves them with size 1."""
    found = axes_of(x, axis, where)
    operand = convert(x, accepted(x.dtype, FOLDS[fn].accepts), where=where)
    out = build.reduce_node(fn, operand, [k - x.rank for k in found], where)
    return _keep(out, x, found, where) if keepdims else out


def _keep(out: Node, x: Node, axes: Sequence[int], where: str) -> Node:
    shape = tuple(ONE if k in axes else s for k, s in enumerate(x.shape))
    return build.reshape(out, shape, where=where)


def argument(fn: str, x: Node, axis: int | None, keepdims: bool = False, where: str = "") -> Node:
    """Return the int32 position of the first extreme along an axis (default: of all elements)."""
    if axis is None:
        flat = build.reshape(x, (product(x.shape),), where=where)
        return argument(fn, flat, 0, keepdims, where)
    return reduce(fn, x, axis, keepdims, where)


def count(x: Node, axes: Sequence[int], dtype: Dtype) -> Node:
    """Return the number of elements along axes, in a float type that no product overflows."""
    constant = 1
    symbolic: list[Expr] = []
    for k in axes:
        if x.shape[k].is_const:
            constant *= x.shape[k].const
        else:
            symbolic.append(x.shape[k])
    out = build.const(float(constant), dtype)
    for k, size in enumerate(symbolic):
        factor = convert(build.affine(size), dtype)
        out = factor if k == 0 and constant == 1 else build.map_node("mul", [out, factor])
    return out


def mean(x: Node, axis: Axes = None, keepdims: bool = False, where: str = "") -> Node:
    """Return the mean over axes, of integers and booleans in float32."""
    operand = convert(x, accepted(x.dtype, FLOATS), where=where)
    axes = axes_of(x, axis, where)
    total = reduce("sum", operand, axes, keepdims, where)
    return build.map_node("div", [total, count(x, axes, operand.dtype)], where=where)


def variance(x: Node, axis: Axes = None, keepdims: bool = False, where: str = "") -> Node:
    """Return the mean squared distance from the mean."""
    operand = convert(x, accepted(x.dtype, FLOATS), where=where)
    centred = elementwise("sub", operand, mean(operand, axis, True, where), where=where)
    return mean(elementwise("mul", centred, centred, where=where), axis, keepdims, where)


def _highest(x: Node, axis: Axes, where: str) -> Node:
    """The maximum, kept and without a gradient: subtracting it changes no result."""
    top = reduce("max", x, axis, True, where)
    return build.map_node("stop_gradient", [top], where=where)


def softmax(x: Node, axis: int, where: str = "") -> Node:
    """Return exponentials divided by their sum along an axis."""
    operand = convert(x, accepted(x.dtype, FLOATS), where=where)
    shifted = elementwise("sub", operand, _highest(operand, axis, where), where=where)
    powers = elementwise("exp", shifted, where=where)
    total = reduce("sum", powers, axis, True, where)
    return elementwise("div", powers, total, where=where)


def log_softmax(x: Node, axis: int, where: str = "") -> Node:
    """Return the logarithm of `softmax`, without its rounding at small probabilities."""
    operand = convert(x, accepted(x.dtype, FLOATS), where=where)
    shifted = elementwise("sub", operand, _highest(operand, axis, where), where=where)
    total = reduce("sum", elementwise("exp", shifted, where=where), axis, True, where)
    return elementwise("sub", shifted, elementwise("log", total, where=where), where=where)


def logsumexp(x: Node, axis: Axes = None, keepdims: bool = False, where: str = "") -> Node:
    """Return the logarithm of the sum of exponentials; -inf for an empty sum."""
    operand = convert(x, accepted(x.dtype, FLOATS), where=where)
    axes = axes_of(x, axis, where)
    top = _highest(operand, axes, where)
    # An infinite maximum is left out: inf - inf has no value.
    finite = select(elementwise("isfinite", top, where=where), top, 0.0, where)
    powers = elementwise("exp", elementwise("sub", operand, finite, where=where), where=where)
    total = reduce("sum", powers, axes, True, where)
    out = elementwise("add", elementwise("log", total, where=where), finite, where=where)
    if keepdims:
        return out
    return build.reshape(out, tuple(s for k, s in enumerate(x.shape) if k not in axes), where=where)


def discounted_sum(x: Node, gamma: Node | float, where: str = "") -> Node:
    """Return ``sum_k gamma**k * x[k]`` over the leading axis.

    The weights are powers of a float by the position, so they underflow to 0 where a quotient of
    powers would overflow.
    """
    axis_of(x, 0, where)
    operand = convert(x, accepted(x.dtype, FLOATS), where=where)
    weighted = elementwise("mul", operand, discounts(operand, gamma, where), where=where)
    return reduce("sum", weighted, 0, where=where)


def discounts(x: Node, gamma: Node | float, where: str = "") -> Node:
    """Return 1, gamma, gamma**2, ... along the leading axis of a tensor."""
    steps = convert(build.iota(x.shape[0]), x.dtype)
    weights = elementwise("pow", gamma, steps, where=where)
    return build.reshape(weights, (x.shape[0], *(ONE,) * (x.rank - 1)), where=where)
