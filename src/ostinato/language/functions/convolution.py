"""Convolutions and pooling over the last axes; channels come first, as in PyTorch."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from ostinato.language.array.dtypes import accepted, convert, promote
from ostinato.language.array.padding import pad_axes
from ostinato.language.array.reduction import mean, reduce
from ostinato.language.functions.correlation import Steps, correlate, looked_at
from ostinato.language.tensor import Tensor, apply, as_tensor
from ostinato.pdg.constant import Scalar
from ostinato.pdg.errors import ShapeError
from ostinato.pdg.functions import FLOATS, FOLDS, NUMBERS, fold_unit
from ostinato.pdg.index import Expr, expr, floordiv
from ostinato.pdg.naming import called, sized
from ostinato.pdg.node import Node
from ostinato.provenance.place import place

PerAxis = int | Sequence[int]
Padding = Literal["valid", "same"] | int | Sequence[int | tuple[int, int]]


def conv1d(
    x: object,
    w: object,
    stride: PerAxis = 1,
    padding: Padding = "valid",
    dilation: PerAxis = 1,
    groups: int = 1,
) -> Tensor:
    """Return the cross-correlation of the last axis, which deep learning calls convolution.

    ``padding`` is "valid" (none), "same" (as many positions as before; stride 1 only), a number of
    zeros for both ends, or one number or pair per axis.
    Shapes: x (..., channels, n), w (features, channels / groups, kernel) -> (..., features, m),
    m = (n + zeros - dilation * (kernel - 1) - 1) // stride + 1.
    Errors: ShapeError.

    >>> import ostinato as ot
    >>> x, w = ot.constant([[1.0, 2.0, 4.0, 8.0]]), ot.constant([[[-1.0, 1.0]]])
    >>> ot.Program(y=ot.conv1d(x, w)).interpret()["y"].tolist()
    [[1.0, 2.0, 4.0]]
    """
    return _apply(1, x, w, stride, padding, dilation, groups)


def conv2d(
    x: object,
    w: object,
    stride: PerAxis = 1,
    padding: Padding = "valid",
    dilation: PerAxis = 1,
    groups: int = 1,
) -> Tensor:
    """Return the cross-correlation of the last two axes; see `conv1d`.

    Shapes: x (..., channels, h, w), w (features, channels / groups, kh, kw)
    -> (..., features, out_h, out_w).
    """
    return _apply(2, x, w, stride, padding, dilation, groups)


def conv3d(
    x: object,
    w: object,
    stride: PerAxis = 1,
    padding: Padding = "valid",
    dilation: PerAxis = 1,
    groups: int = 1,
) -> Tensor:
    """Return the cross-correlation of the last three axes; see `conv1d`.

    Shapes: x (..., channels, d, h, w), w (features, channels / groups, kd, kh, kw)
    -> (..., features, out_d, out_h, out_w).
    """
    return _apply(3, x, w, stride, padding, dilation, groups)


def _apply(
    rank: int,
    x: object,
    w: object,
    stride: PerAxis,
    padding: Padding,
    dilation: PerAxis,
    groups: int,
) -> Tensor:
    steps = [_per_axis("stride", stride, rank), _per_axis("dilation", dilation, rank)]
    return apply(_conv, as_tensor(x), as_tensor(w), steps, padding, groups)


def _per_axis(name: str, given: PerAxis, rank: int) -> list[int]:
    values = [given] * rank if isinstance(given, int) else list(given)
    if len(values) != rank or any(v < 1 for v in values):
        remedy = f"Give a number from 1, or one for each of the {rank} axes."
        raise ShapeError(f"{name} {given!r} for {rank} axes", remedy, place())
    return values


def _conv(
    x: Node, w: Node, steps: list[list[int]], padding: Padding, groups: int, where: str = ""
) -> Node:
    strides, dilations = steps
    rank = len(strides)
    _check(x, w, rank, groups, where)
    spans = [(k - 1) * d for k, d in zip(w.shape[2:], dilations, strict=True)]
    pairs = _pairs(padding, strides, spans, where)
    dtype = accepted(promote((x.dtype, w.dtype), where), NUMBERS)
    seen = pad_axes(x, {k - rank: pair for k, pair in enumerate(pairs)}, 0, where)
    x, w = (convert(each, dtype, where=where) for each in (seen, w))
    return correlate(x, w, Steps(tuple(strides), tuple(dilations), groups), where)


def _check(x: Node, w: Node, rank: int, groups: int, where: str) -> None:
    if w.rank != rank + 2 or x.rank < rank + 1:
        fact = f"conv{rank}d of {sized(x)} with the kernel {sized(w)}"
        remedy = f"x is (..., channels, {rank} axes), w (features, channels / groups, {rank} axes)."
        raise ShapeError(fact, remedy, where)
    channels, features = x.shape[-rank - 1], w.shape[0]
    even = groups > 0 and features.is_const and features.const % groups == 0
    if not even or w.shape[1] * groups != channels:
        fact = (
            f"conv{rank}d with {groups} groups of {channels} channels of {called(x)} "
            f"and the kernel {sized(w)}"
        )
        remedy = "Each group has an equal part of the features and of the channels of w."
        raise ShapeError(fact, remedy, where)


def _pairs(
    padding: Padding, strides: list[int], spans: list[Expr], where: str
) -> list[tuple[Expr, Expr]]:
    """How many positions to add before and after each axis."""
    rank = len(strides)
    if padding == "valid":
        return [(expr(0), expr(0))] * rank
    if padding == "same":
        if any(s != 1 for s in strides):
            remedy = "Give the number of zeros, such as padding=1."
            raise ShapeError(f'padding "same" with stride {strides}', remedy, where)
        return [(floordiv(span, 2), span - floordiv(span, 2)) for span in spans]
    given = [padding] * rank if isinstance(padding, int) else list(padding)
    wide = [(p, p) if isinstance(p, int) else tuple(p) for p in given if not isinstance(p, str)]
    if len(wide) != rank or any(len(p) != 2 or min(p) < 0 for p in wide):
        remedy = f'Give "valid", "same", a number, or a number or a pair for each of {rank} axes.'
        raise ShapeError(f"padding {padding!r} for {rank} axes", remedy, where)
    return [(expr(p[0]), expr(p[1])) for p in wide]


def _pool(
    x: Node, fn: str, size: list[int], stride: list[int], padding: Padding, where: str = ""
) -> Node:
    rank = len(size)
    if x.rank < rank:
        raise ShapeError(f"pooling {rank} axes of {sized(x)}", "Give more axes.", where)
    pairs = _pairs(padding, stride, [expr(k - 1) for k in size], where)
    if any(max(p.const for p in pair) >= k for pair, k in zip(pairs, size, strict=True)):
        fact = f"padding {padding!r} for windows of {size if rank > 1 else size[0]}"
        remedy = "Add fewer positions than a window has: it would see nothing else."
        raise ShapeError(fact, remedy, where)
    takes = FOLDS["max"].accepts if fn == "max" else FLOATS
    operand = convert(x, accepted(x.dtype, takes), where=where)
    filler: Scalar = fold_unit("max", operand.dtype) if fn == "max" else 0
    wide = pad_axes(operand, {k - rank: pair for k, pair in enumerate(pairs)}, filler, where)
    seen = looked_at(wide, [expr(k) for k in size], stride, [1] * rank, where)
    axes = [seen.rank - 1 - 2 * k for k in range(rank)]
    return reduce("max", seen, axes, where=where) if fn == "max" else mean(seen, axes, where=where)


def _pooled(
    fn: str, rank: int, x: object, size: PerAxis, stride: PerAxis | None, padding: Padding
) -> Tensor:
    sizes = _per_axis("window size", size, rank)
    strides = sizes if stride is None else _per_axis("stride", stride, rank)
    return apply(_pool, as_tensor(x), fn, sizes, strides, padding)


def max_pool1d(
    x: object, size: PerAxis, stride: PerAxis | None = None, padding: Padding = "valid"
) -> Tensor:
    """Return the greatest element of each window of the last axis.

    The stride is the size of the window unless it is given. What padding adds never wins.
    """
    return _pooled("max", 1, x, size, stride, padding)


def max_pool2d(
    x: object, size: PerAxis, stride: PerAxis | None = None, padding: Padding = "valid"
) -> Tensor:
    """Return the greatest element of each window of the last two axes.

    The stride is the size of the window unless it is given. What padding adds never wins.
    """
    return _pooled("max", 2, x, size, stride, padding)


def max_pool3d(
    x: object, size: PerAxis, stride: PerAxis | None = None, padding: Padding = "valid"
) -> Tensor:
    """Return the greatest element of each window of the last three axes.

    The stride is the size of the window unless it is given. What padding adds never wins.
    """
    return _pooled("max", 3, x, size, stride, padding)


def avg_pool1d(
    x: object, size: PerAxis, stride: PerAxis | None = None, padding: Padding = "valid"
) -> Tensor:
    """Return the mean of each window of the last axis.

    The stride is the size of the window unless it is given. Zeros that padding adds count.
    """
    return _pooled("avg", 1, x, size, stride, padding)


def avg_pool2d(
    x: object, size: PerAxis, stride: PerAxis | None = None, padding: Padding = "valid"
) -> Tensor:
    """Return the mean of each window of the last two axes.

    The stride is the size of the window unless it is given. Zeros that padding adds count.
    """
    return _pooled("avg", 2, x, size, stride, padding)


def avg_pool3d(
    x: object, size: PerAxis, stride: PerAxis | None = None, padding: Padding = "valid"
) -> Tensor:
    """Return the mean of each window of the last three axes.

    The stride is the size of the window unless it is given. Zeros that padding adds count.
    """
    return _pooled("avg", 3, x, size, stride, padding)
