"""Operators on spatial axes of constant size."""

from __future__ import annotations

from collections.abc import Callable

import ostinato as ot
from ostinato.language.tensor import Tensor
from tests.property.constructs.table import Step, Workshop, construct, fits, place, ragged


def spread(x: Tensor) -> Tensor:
    """Integer positions that follow from values, some outside the axis."""
    return ot.floor(x * 4.0).cast("int32")


def convolved(x: Tensor, c: int) -> Tensor:
    """A convolution of the last axis with a kernel of the values themselves."""
    row = x.reshape(1, -1)
    kernel = ot.tanh(row[..., :2]).reshape(1, 1, -1) * 0.5
    padded = ot.concatenate([row, row[..., :1], row[..., :1]], axis=-1)
    return ot.conv1d(padded, kernel, stride=c, padding="same" if c == 1 else "valid")[0]


def pooled(x: Tensor, c: int) -> Tensor:
    row = x.reshape(1, -1)
    pool = ot.max_pool1d if c > 1 else ot.avg_pool1d
    return pool(ot.concatenate([row, row * 0.5], axis=-1), 2)[0]


ONE_ARRAY: dict[str, Callable[[Tensor, int], Tensor]] = {
    "softmax": lambda x, c: ot.softmax(x, axis=-1),
    "log_softmax": lambda x, c: ot.log_softmax(x, axis=0),
    "logsumexp": lambda x, c: ot.logsumexp(x, -1, keepdims=c == 1),
    "cumsum": lambda x, c: ot.cumsum(x, axis=-1) * 0.5,
    "row_sum": lambda x, c: x.sum(-1),
    "column_sum": lambda x, c: x.sum(0),
    "centred": lambda x, c: x - x.mean(-1, keepdims=True),
    "variance": lambda x, c: x.var(-1) + x.mean(-1),
    "deviation": lambda x, c: ot.sqrt(x.var(0) + 0.1),
    "largest": lambda x, c: x.max(-1, keepdims=c == 1),
    "least": lambda x, c: x.min(0),
    "largest_at": lambda x, c: (x.argmax() if c > 2 else x.argmax(-1)).cast(x.dtype) * 0.25,
    "least_at": lambda x, c: x.argmin(0).cast(x.dtype) * 0.25 + x,
    "row_product": lambda x, c: ot.sin(x).prod(-1),
    "whole_fold": lambda x, c: x.sum() * 0.25 if c > 1 else x.max(),
    "flip": lambda x, c: ot.flip(x, -1),
    "transposed": lambda x, c: x.T,
    "flat": lambda x, c: x.reshape(-1),
    "new_axis": lambda x, c: x[..., None] if x.ndim < 3 else x.sum(1),
    "outer_axis": lambda x, c: ot.expand_dims(x, 0) * 0.5 if x.ndim < 3 else x.mean(0),
    "squeezed": lambda x, c: ot.squeeze(x),
    "repeated": lambda x, c: ot.broadcast_to(x, (2, *x.shape)) if x.ndim < 3 else x.max(0),
    "element": lambda x, c: x[..., -1] if c == 1 else x[..., 0],
    "part": lambda x, c: x[..., 1:] if c == 1 else x[..., ::2],
    "take": lambda x, c: ot.take(x, (x.sum() > 0).cast("int32") + c - 1, axis=-1),
    "take_several": lambda x, c: ot.take(x, ot.constant([2, 0, c, -1]), axis=0),
    "take_computed": lambda x, c: ot.take(x, spread(x.sum()), axis=0),
    "take_along": lambda x, c: ot.take_along_axis(x, spread(x), axis=-1),
    "one_hot": lambda x, c: ot.one_hot(spread(x.sum()), 3, dtype=x.dtype) * 0.5,
    "stacked": lambda x, c: ot.stack([x, x * 0.5], axis=-1).sum(-1),
    "joined": lambda x, c: ot.concatenate([x, x * 0.5, x], axis=0).sum(0),
    "gram": lambda x, c: (x @ ot.swapaxes(x, -1, -2) if x.ndim > 1 else x @ x) * 0.25,
    "einsum_diagonal": lambda x, c: ot.einsum("...i,...i->...", x, ot.sin(x)) * 0.5,
    "einsum_outer": lambda x, c: ot.einsum("i...,j...->i", x, x) * 0.1,
    "einsum_of_three": lambda x, c: ot.einsum("...i,...j,...j->...i", x, x, ot.cos(x)) * 0.25,
    "outer": lambda x, c: ot.outer(x[..., 0].reshape(-1), x.reshape(-1)) * 0.5,
    "lower": lambda x, c: ot.tril(x) if x.ndim == 2 else x * 0.5,
    "upper": lambda x, c: ot.triu(x, 1) if x.ndim == 2 else x[..., None] * 0.5,
    "main_diagonal": lambda x, c: ot.diagonal(x) if x.ndim == 2 else ot.diag(x.reshape(-1)),
    "pad": lambda x, c: ot.pad(x, (1, c), "edge" if c > 1 else "constant") * 0.5,
    "roll": lambda x, c: ot.roll(x, c),
    "repeat": lambda x, c: ot.repeat(x, 2, axis=-1) if c == 1 else ot.tile(x, 2).sum(-1) * 0.25,
    "conv1d": lambda x, c: convolved(x, c),
    "pool1d": lambda x, c: pooled(x, c),
    "swapped": lambda x, c: ot.swapaxes(x, 0, -1),
    "unstacked": lambda x, c: ot.unstack(x, 0)[0] - ot.unstack(x, 0)[-1],
}


@construct("arrays", *ONE_ARRAY)
def one(w: Workshop, s: Step) -> Tensor | None:
    x = w.array(s)
    if x is None or (s.op == "part" and x.node.shape[-1].const == 1):
        return None
    return ONE_ARRAY[s.op](x, s.c)


@construct("arrays")
def matmul(w: Workshop, s: Step) -> Tensor | None:
    x, y = w.array(s), w.as_real(w.pool[s.b % len(w.pool)])
    if x is None or not y.ndim or any(not n.is_const for n in y.node.shape):
        return None
    rows, columns = x.node.shape, y.node.shape
    if rows[-1] == columns[-2 if y.ndim > 1 else 0] and max(x.ndim, y.ndim) < 3:
        return x @ y * 0.25
    if x.ndim == y.ndim == 2 and rows[-1] == columns[-1]:
        return x @ y.T * 0.25
    return None


@construct("arrays")
def concat(w: Workshop, s: Step) -> Tensor | None:
    x, y = w.array(s), w.other(s)
    if x is None or y is None or x.node.shape != y.node.shape:
        return None
    return ot.concatenate([x, y * 0.5], axis=-1)[..., 1:-1] if s.c > 1 else ot.stack([x, y]).max(0)


@construct("arrays")
def gather_history(w: Workshop, s: Step) -> Tensor | None:
    """A step that is itself computed: a gather from the axis of a slice."""
    d, x = w.along(s), w.real(s)
    if d is None or x.ndim > 1 or ragged(x):
        return None
    index = spread(x.sum()) + d
    whole = place(x, d, slice(None, d + 1) if s.c == 1 else slice(None))
    return whole.take(index, axis=0)


@construct("arrays")
def element_at_step(w: Workshop, s: Step) -> Tensor | None:
    """A spatial axis at a position that follows from the point."""
    x = w.array(s)
    return None if x is None else x[..., w.dim(s) % x.node.shape[-1].const]


@construct("arrays")
def choose_rows(w: Workshop, s: Step) -> Tensor | None:
    x, y = w.array(s), w.other(s)
    if x is None or y is None or not fits(x, y):
        return None
    return ot.where((x > 0).any(-1, keepdims=True), x, y)
