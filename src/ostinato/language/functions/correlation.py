"""Correlations of the last axes with a kernel, and their derivative, which is a correlation too.

The derivative by the operand collects, at each position, what the windows that hold it have to say.
Written as a sum over windows it would keep a product for every place of the kernel. With stride 1
it is the correlation of the upstream, zeros around it, with the kernel turned around. With a stride
``s`` a position ``s * q + p`` meets every ``s``-th place of the kernel only, from ``p`` on: each
``p`` is a correlation with those, and all of them are features of one.
"""

from __future__ import annotations

import string
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain

from ostinato.language.array.einsum import Labels, Spec, contract
from ostinato.language.array.movement import flip, part, transpose
from ostinato.language.array.padding import Pair, pad_axes
from ostinato.pdg.build import custom, reshape
from ostinato.pdg.errors import ShapeError
from ostinato.pdg.index import Expr, Slice, expr, floordiv
from ostinato.pdg.node import Node
from ostinato.pdg.windows import Window, windows

ZERO = expr(0)


@dataclass(frozen=True)
class Steps:
    """How far windows are apart, and the places in each; groups of channels are on their own."""

    strides: tuple[int, ...]
    dilations: tuple[int, ...]
    groups: int

    @property
    def rank(self) -> int:
        return len(self.strides)


def correlate(x: Node, w: Node, steps: Steps, where: str = "") -> Node:
    """Return the products of a kernel with all windows, added up.

    Shapes: x (..., channels, *axes), w (features, channels / groups, *kernel), of one type
    -> (..., features, *windows).
    Errors: ShapeError, if a window is larger than its axis.
    """
    return custom(_correlated(x, w, steps, where), [x, w], _Derivative(steps), where)


def looked_at(
    x: Node, sizes: Sequence[Expr], strides: Sequence[int], dilations: Sequence[int], where: str
) -> Node:
    """Each of the last axes as two: which window, and where in it.

    Errors: ShapeError, if a window is larger than its axis.
    """
    rank = len(sizes)
    for k in reversed(range(rank)):
        axis = -1 - 2 * (rank - 1 - k)
        last = x.shape[axis] - (sizes[k] - 1) * dilations[k] - 1
        if last.is_const and last.const < 0:
            fact = f"a window of {sizes[k]} positions, {dilations[k]} apart, on {x.shape[axis]}"
            raise ShapeError(fact, "Use a smaller window, or padding.", where)
        window = Window(floordiv(last, strides[k]) + 1, sizes[k], strides[k], dilations[k])
        x = windows(x, axis, window, where)
    return x


def _labels(lead: int, rank: int) -> tuple[Labels, Labels, Labels]:
    """A letter for every axis of an operand's windows, of the kernel, and of the result."""
    letters = iter(string.ascii_letters)
    ahead, out, inner, (group, channel, feature) = (
        tuple(next(letters) for _ in range(n)) for n in (lead, rank, rank, 3)
    )
    places = chain.from_iterable(zip(out, inner, strict=True))
    kernel, result = (group, feature, channel, *inner), (*ahead, group, feature, *out)
    return (*ahead, group, channel, *places), kernel, result


def _correlated(x: Node, w: Node, steps: Steps, where: str) -> Node:
    lead = x.rank - steps.rank - 1
    seen, kernel, result = _labels(lead, steps.rank)
    operands = [_windows_of(x, w.shape[2:], steps, where), _grouped(w, 0, steps.groups, where)]
    found = contract(Spec((seen, kernel), result), operands, where)
    return reshape(found, (*x.shape[:lead], w.shape[0], *found.shape[lead + 2 :]), where=where)


def _windows_of(x: Node, kernel: Sequence[Expr], steps: Steps, where: str) -> Node:
    seen = looked_at(x, kernel, steps.strides, steps.dilations, where)
    return _grouped(seen, x.rank - steps.rank - 1, steps.groups, where)


def _grouped(x: Node, axis: int, groups: int, where: str) -> Node:
    """Return ``x`` with an axis of channels as two, the group first."""
    each = floordiv(x.shape[axis], groups)
    return reshape(x, (*x.shape[:axis], expr(groups), each, *x.shape[axis + 1 :]), where=where)


@dataclass(frozen=True)
class _Derivative:
    """What the derivative of a correlation gives its operand and its kernel."""

    steps: Steps

    def __call__(self, node: Node, upstream: Node) -> tuple[Node, Node]:
        _, x, w = node.args
        return _by_operand(x, w, upstream, self.steps), _by_kernel(x, w, upstream, self.steps)


def _by_kernel(x: Node, w: Node, upstream: Node, steps: Steps) -> Node:
    where, lead = upstream.where, x.rank - steps.rank - 1
    seen, kernel, result = _labels(lead, steps.rank)
    grouped = _grouped(upstream, lead, steps.groups, where)
    operands = [_windows_of(x, w.shape[2:], steps, where), grouped]
    return reshape(contract(Spec((seen, result), kernel), operands, where), w.shape, where=where)


def _by_operand(x: Node, w: Node, upstream: Node, steps: Steps) -> Node:
    """What each position hears from all windows that hold it."""
    where, rank, lead = upstream.where, steps.rank, x.rank - steps.rank - 1
    kernel, dilations = _spread(w, steps, where)
    turned, places = _phases(kernel, steps, where)
    around: dict[int, Pair] = {}
    for k, (size, stride, count, d) in enumerate(
        zip(x.shape[lead + 1 :], steps.strides, places, dilations, strict=True)
    ):
        ahead = (count - 1) * d
        phases = _turns(size, stride)
        around[k - rank] = ahead, phases - upstream.shape[k - rank]
    wide = pad_axes(upstream, around, 0, where)
    found = correlate(wide, turned, Steps((1,) * rank, dilations, steps.groups), where)
    return _interleaved(found, x, steps, where)


def _turns(size: Expr, stride: int) -> Expr:
    """How many steps of a stride begin within so many positions."""
    return floordiv(size + (stride - 1), stride)


def _spread(w: Node, steps: Steps, where: str) -> tuple[Node, tuple[int, ...]]:
    """The kernel with places beside each other along strided axes, zeros between them."""
    dilations = list(steps.dilations)
    for k, (stride, dilation) in enumerate(zip(steps.strides, steps.dilations, strict=True)):
        if stride > 1 and dilation > 1:
            axis, size = k + 2, w.shape[k + 2]
            thin = reshape(w, (*w.shape[: axis + 1], expr(1), *w.shape[axis + 1 :]), where=where)
            filled = pad_axes(thin, {axis + 1: (ZERO, expr(dilation - 1))}, 0, where)
            flat = (*w.shape[:axis], size * dilation, *w.shape[axis + 1 :])
            w, dilations[k] = reshape(filled, flat, where=where), 1
    return w, tuple(dilations)


def _phases(w: Node, steps: Steps, where: str) -> tuple[Node, tuple[Expr, ...]]:
    """The kernel of the derivative, a feature for each channel and phase; its places.

    It is turned around, and goes from features to channels: (channels * phases, features / groups,
    *places).
    """
    rank, groups = steps.rank, steps.groups
    w = _grouped(w, 0, groups, where)
    places: list[Expr] = []
    for k, stride in enumerate(steps.strides):
        size, axis = w.shape[3 + 2 * k], 3 + 2 * k
        count = _turns(size, stride)
        w = pad_axes(w, {axis: (ZERO, count * stride - size)}, 0, where)
        split = (*w.shape[:axis], count, expr(stride), *w.shape[axis + 1 :])
        w = flip(reshape(w, split, where=where), axis - len(split), where)
        places.append(count)
    inner = [3 + 2 * k for k in range(rank)]
    order = (0, 2, *(k + 1 for k in inner), 1, *inner)
    moved = transpose(w, order, where)
    channels = w.shape[2] * groups
    for stride in steps.strides:
        channels = channels * stride
    return reshape(moved, (channels, w.shape[1], *places), where=where), tuple(places)


def _interleaved(found: Node, x: Node, steps: Steps, where: str) -> Node:
    """Phases of channels as positions: (..., channels * phases, *q) -> the shape of ``x``."""
    rank, lead = steps.rank, x.rank - steps.rank - 1
    counts = found.shape[lead + 1 :]
    split = (*x.shape[: lead + 1], *map(expr, steps.strides), *counts)
    apart = reshape(found, split, where=where)
    places = chain.from_iterable((lead + 1 + rank + k, lead + 1 + k) for k in range(rank))
    order = (*range(lead + 1), *places)
    beside = transpose(apart, order, where)
    sizes = [q * s for q, s in zip(counts, steps.strides, strict=True)]
    out = reshape(beside, (*x.shape[: lead + 1], *sizes), where=where)
    for k, (size, wanted) in enumerate(zip(sizes, x.shape[lead + 1 :], strict=True)):
        if size != wanted:
            out = part(out, lead + 1 + k, Slice(ZERO, wanted), where)
    return out
