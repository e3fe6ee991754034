"""Axes made longer at their ends, turned around, and repeated."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ostinato.language.array.dtypes import convert, literal
from ostinato.language.array.movement import axis_of, broadcast_to, expand, flip, part, take
from ostinato.pdg import build
from ostinato.pdg.build import ONE
from ostinato.pdg.constant import Scalar
from ostinato.pdg.errors import ShapeError
from ostinato.pdg.index import Expr, Slice, expr
from ostinato.pdg.naming import called, sized
from ostinato.pdg.node import Node

Pair = tuple[Expr, Expr]
ZERO = expr(0)


def pad_axes(x: Node, pairs: Mapping[int, Pair], value: Scalar, where: str = "") -> Node:
    """Return ``x`` with a number before and after axes, which count from either end."""
    filler = literal(value, x.dtype, (), where)
    for axis, (before, after) in pairs.items():
        k = axis_of(x, axis, where)
        ends = [_ends(x, k, size, filler, where) for size in (before, after)]
        x = build.concat([*ends[0], x, *ends[1]], k, where)
    return x


def _ends(x: Node, k: int, size: Expr, filler: Node, where: str) -> list[Node]:
    if size == ZERO:
        return []
    shape = (*x.shape[:k], size, *x.shape[k + 1 :])
    return [broadcast_to(filler, shape, where)]


def pad(
    x: Node, widths: Sequence[tuple[int, int]], mode: str, value: Scalar, where: str = ""
) -> Node:
    """Return ``x`` with elements before and after each axis: a number, its ends, or a mirror."""
    pairs = {k: (expr(a), expr(b)) for k, (a, b) in enumerate(widths) if a or b}
    if mode == "constant":
        return pad_axes(x, pairs, value, where)
    for k, (before, after) in pairs.items():
        if mode == "edge":
            x = _with_edges(x, k, before, after, where)
        else:
            x = _mirrored(x, k, before, after, where)
    return x


def _with_edges(x: Node, k: int, before: Expr, after: Expr, where: str) -> Node:
    last = x.shape[k] - 1
    parts = [x]
    for size, place in ((before, ZERO), (after, last)):
        if size != ZERO:
            end = expand(part(x, k, place, where), k, where)
            wide = broadcast_to(end, (*x.shape[:k], size, *x.shape[k + 1 :]), where)
            parts = [wide, *parts] if place is ZERO else [*parts, wide]
    return build.concat(parts, k, where)


def _mirrored(x: Node, k: int, before: Expr, after: Expr, where: str) -> Node:
    """The elements next to each end, in reverse order and without the end itself."""
    size = x.shape[k]
    if size.is_const and max(before.const, after.const) >= size.const:
        fact = (
            f"{called(x)} mirrored by {max(before.const, after.const)} at axis {k} of size {size}"
        )
        raise ShapeError(fact, "Pad by less than the size.", where)
    left = flip(part(x, k, Slice(expr(1), before + 1), where), k, where)
    right = flip(part(x, k, Slice(size - 1 - after, size - 1), where), k, where)
    parts = ([left] if before != ZERO else []) + [x] + ([right] if after != ZERO else [])
    return build.concat(parts, k, where)


def roll(x: Node, shift: int, axis: int, where: str = "") -> Node:
    """Return ``x`` moved along an axis by a number of positions, around its end."""
    k = axis_of(x, axis, where)
    size = convert(build.affine(x.shape[k]), "int32")
    moved = build.map_node("sub", [build.iota(x.shape[k]), build.const(shift, "int32")])
    return take(x, build.map_node("mod", [moved, size]), k, where)


def repeat(x: Node, times: int, axis: int, where: str = "") -> Node:
    """Return ``x`` with each position of an axis several times in a row."""
    k = axis_of(x, axis, where)
    wide = expand(x, k + 1, where)
    wide = broadcast_to(wide, (*x.shape[: k + 1], expr(times), *x.shape[k + 1 :]), where)
    shape = (*x.shape[:k], x.shape[k] * times, *x.shape[k + 1 :])
    return build.reshape(wide, shape, where=where)


def tile(x: Node, times: Sequence[int], where: str = "") -> Node:
    """Return ``x`` several times side by side along the last axes."""
    x = build.pad_rank(x, max(x.rank, len(times)))
    counts = [1] * (x.rank - len(times)) + list(times)
    shape = x.shape
    for k, count in enumerate(counts):
        if count != 1:
            wide = broadcast_to(expand(x, k, where), (*shape[:k], expr(count), *shape[k:]), where)
            shape = (*shape[:k], shape[k] * count, *shape[k + 1 :])
            x = build.reshape(wide, shape, where=where)
    return x


def grid(args: Sequence[Node], where: str = "") -> list[Node]:
    """Return each vector along an axis of its own, repeated along those of the others."""
    if any(x.rank != 1 for x in args):
        shown = " and ".join(map(sized, args))
        raise ShapeError(f"a grid of {shown}", "Give vectors.", where)
    shape = tuple(x.shape[0] for x in args)
    own = [tuple(s if j == k else ONE for j, s in enumerate(shape)) for k in range(len(args))]
    pairs = zip(args, own, strict=True)
    return [broadcast_to(build.reshape(x, o, where=where), shape, where) for x, o in pairs]
