"""What each operator means, in NumPy: the pointwise definitions that the interpreter evaluates."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

import numpy as np

from ostinato.pdg import philox
from ostinato.pdg.axis_functions import along_axis
from ostinato.pdg.errors import DomainError, ShapeError
from ostinato.pdg.functions import FUNCTIONS, HALVES, POSITIONS, REPEATED, Array, fold_unit
from ostinato.pdg.index import Dim, Expr, Extent, Index, Slice, evaluate
from ostinato.pdg.naming import called
from ostinato.pdg.node import (
    Affine,
    Along,
    Broadcast,
    Concat,
    Const,
    Dtype,
    Gather,
    Iota,
    Map,
    Matmul,
    Node,
    Part,
    Random,
    Reduce,
    Reshape,
    Transpose,
)

Env = Mapping[Dim | Extent, int]
Constant = Const | Affine | Iota
Tensorial = Map | Reduce | Matmul | Reshape | Transpose | Broadcast | Concat | Part | Gather | Along


def sizes(shape: Sequence[Expr], env: Env) -> tuple[int, ...]:
    """The shape at a point; a slice that ends before it begins is empty."""
    return tuple(max(0, evaluate(size, env)) for size in shape)


def widened(dtype: Dtype, exact: bool) -> Dtype:
    """The dtype to compute in: floats become float64 in an exact evaluation."""
    return "float64" if exact and (dtype == "float32" or dtype in HALVES) else dtype


def convert(x: Array, dtype: Dtype) -> Array:
    """Return ``x`` as ``dtype``: floats truncate and saturate, NaN becomes 0.

    To and from a half it goes by float32.

    >>> convert(np.array([-1.5, 3e9, np.nan], "float32"), "int32").tolist()
    [-1, 2147483647, 0]
    """
    if dtype == "bool":
        return np.asarray(x != 0)
    if dtype in HALVES:
        return x.astype("float32").astype(dtype)
    if x.dtype.name in HALVES:
        return convert(x.astype("float32"), dtype)
    if x.dtype.kind != "f" or dtype.startswith("float"):
        return x.astype(dtype)
    info = np.iinfo(dtype)
    whole = np.trunc(np.where(np.isnan(x), 0.0, x.astype("float64")))
    inside = np.clip(whole, float(info.min), np.nextafter(float(info.max), 0.0))
    return np.where(whole >= float(info.max), info.max, inside.astype(dtype)).astype(dtype)


def fold(fn: str, x: Array, axes: tuple[int, ...]) -> Array:
    """Return a reduction, one element after the other, those of the last axis first.

    An empty one gives the unit, or position 0 for argmax and argmin.
    """
    if fn in POSITIONS:
        reduction = cast(Callable[..., Any], getattr(np, fn))
        (axis,) = axes
        if x.shape[axis] == 0:
            return np.zeros([s for k, s in enumerate(x.shape) if k - x.ndim != axis], "int32")
        return np.asarray(reduction(x, axis=axis)).astype("int32")
    repeated = cast(np.ufunc, FUNCTIONS[REPEATED[fn]].numpy)
    unit = fold_unit(fn, cast(Dtype, x.dtype.name))
    if x.dtype.kind != "f":
        return np.asarray(repeated.reduce(x, axis=axes, initial=unit)).astype(x.dtype)
    first = np.moveaxis(x, sorted(k % x.ndim for k in axes), range(len(axes)))
    count, kept = math.prod(first.shape[: len(axes)]), first.shape[len(axes) :]
    rows = np.concatenate([np.full((1, *kept), unit, x.dtype), first.reshape(count, *kept)])
    in_turn = repeated.accumulate(rows)[-1]  # the order of `reduce` follows the layout
    return np.asarray(in_turn).astype(x.dtype)


def product(x: Array, y: Array) -> Array:
    """Return the matrix product; each element adds its terms one after the other.

    So it is the same however many rows are multiplied at a time, which a library does not promise.
    """
    if x.dtype.name not in ("float32", "float64"):
        return np.asarray(np.matmul(x, y))
    lead = np.broadcast_shapes(x.shape[:-2], y.shape[:-2])
    out = np.zeros((*lead, x.shape[-2], y.shape[-1]), x.dtype)
    for k in range(x.shape[-1]):
        out += x[..., :, k : k + 1] * y[..., k : k + 1, :]
    return out


def constant(op: Constant, node: Node, env: Env) -> Array:
    """Return the value of an operator that has no operands, in NumPy's type for it."""
    match op:
        case Const(values):
            flat = np.asarray(values)
            shape = sizes(node.shape, env)
            return np.broadcast_to(flat[0], shape) if len(values) == 1 else flat.reshape(shape)
        case Affine(of):
            return np.asarray(evaluate(of, env))
        case Iota(size):
            return np.arange(evaluate(size, env))


def draw(op: Random, node: Node, env: Env, seed: int) -> Array:
    """Return the random numbers of a point, in the declared dtype."""
    point, shape = [env[d] for d in node.domain], sizes(node.shape, env)
    if op.fn == "bits":
        return philox.draw_bits(seed, op.stream, point, shape)
    assert node.dtype in ("float32", "float64"), f"a draw of {node.dtype} by {op}"
    drawn = philox.draw_uniform if op.fn == "uniform" else philox.draw_normal
    return drawn(seed, op.stream, point, shape, node.dtype)


def tensorial(op: Tensorial, node: Node, args: list[Array], env: Env) -> Array:
    """Return an operator of its operands' values at one point."""
    x = args[0]
    match op:
        case Map(fn):
            out = np.asarray(FUNCTIONS[fn].numpy(*args))
            return convert(out, node.dtype) if fn == "cast" else out
        case Reduce(fn, axes):
            return fold(fn, x, axes)
        case Matmul():
            return product(x, args[1])
        case Reshape(rank, shape):
            return x.reshape(x.shape[: x.ndim - rank] + sizes(shape, env))
        case Transpose(perm):
            kept = x.ndim - len(perm)
            return x.transpose(*range(kept), *(x.ndim + p for p in perm))
        case Broadcast(shape):
            return np.broadcast_to(x, x.shape[: x.ndim - len(shape)] + sizes(shape, env))
        case Concat(axis):
            return np.concatenate(args, axis)
        case Part(axis, at):
            return np.asarray(np.take(x, positions(at, env), axis=axis, mode="clip"))
        case Gather(axis, _):
            return take(x, args[1], axis)
        case Along(fn, axis, size):
            return along_axis(fn, args, axis, max(0, evaluate(size, env)))


def positions(at: Index, env: Env) -> Array:
    """Return an index (a scalar array), or all indices of a slice."""
    if isinstance(at, Slice):
        return np.arange(evaluate(at.lo, env), evaluate(at.hi, env), at.step)
    return np.asarray(evaluate(at, env))


def take(x: Array, index: Array, axis: int) -> Array:
    """Return ``take_along_axis`` with broadcasting and clamped positions; of no elements, zeros."""
    if not x.shape[axis]:
        shape = list(x.shape)
        shape[axis] = index.shape[axis]
        return np.zeros(np.broadcast_shapes(tuple(shape), index.shape), x.dtype)
    clamped = np.clip(index.astype("int64"), 0, x.shape[axis] - 1)
    return np.take_along_axis(x, clamped, axis)


def check_elements(node: Node, env: Env) -> None:
    """Refuse a position on an axis without elements.

    Errors: ShapeError.
    """
    assert isinstance(node.op, Gather), f"{node} is no gather"
    size = node.args[0].shape[node.op.axis]
    if evaluate(size, env) < 1 and all(sizes(node.shape, env)):
        fact = f"{called(node.args[0])} is taken at a position of an axis of size {size}, here 0"
        raise ShapeError(fact, "Take it only where the axis has elements.", node.where)


def check_window(node: Node, index: Array, env: Env) -> None:
    """Refuse a position outside the window of a gather.

    Errors: DomainError.
    """
    assert isinstance(node.op, Gather), f"{node} is no gather"
    if node.op.window is None:
        return
    lo, hi = (evaluate(end, env) for end in (node.op.window[1].lo, node.op.window[1].hi))
    start = np.asarray(lo).astype(index.dtype)  # wraps around as the subtraction did
    steps = (index + start).astype("int64")
    outside = steps[(steps < lo) | (steps >= hi)]
    if outside.size:
        place = node.domain, node.where
        offset = int(outside.flat[0]) - lo
        raise window_error(called(node.args[0]), node.op.window, env, offset, place)


def window_error(
    tensor: str,
    window: tuple[Dim, Slice],
    env: Env,
    offset: int,
    place: tuple[tuple[Dim, ...], str],
) -> DomainError:
    """The error for a computed step, so far from the first of its window at a point."""
    (dim, steps), (dims, where) = window, place
    lo, hi = evaluate(steps.lo, env), evaluate(steps.hi, env)
    point = ", ".join(f"{d} = {env[d]}" for d in dims)
    here = f" at {point}" if point else ""
    within = f"{lo} <= {dim} < {hi}" if lo < hi else "empty"
    fact = f"{tensor} is read at {dim} = {lo + offset}{here}, where its window is {within}"
    remedy = "Clip the index to the window with `ot.clip`, or widen `within`."
    return DomainError(fact, remedy, where)


def check_part(op: Part, x: Array, node: Node, env: Env) -> None:
    """Refuse a part outside its axis, which NumPy would wrap around or cut off.

    Errors: DomainError.
    """
    size, found = x.shape[op.axis], positions(op.at, env)
    if found.size and not (0 <= found.min() and found.max() < size):
        fact = f"index {op.at} of axis {op.axis} of `{node.args[0]}` leaves its size {size}"
        raise DomainError(fact, "Use an index inside the axis.", node.where)
