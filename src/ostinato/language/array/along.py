"""Functions of a whole axis: cumulative, in order, searched, and scattered."""

from __future__ import annotations

from ostinato.language.array.dtypes import Operand, accepted, common_dtype, convert, convert_all
from ostinato.language.array.elementwise import elementwise, select
from ostinato.language.array.movement import axis_of, broadcast_to, part, take_along
from ostinato.language.array.reduction import reduce
from ostinato.pdg import build
from ostinato.pdg.axis_functions import AXIS_FUNCTIONS
from ostinato.pdg.bounds import is_never_negative
from ostinato.pdg.build import ONE, pad_rank
from ostinato.pdg.errors import DtypeError, OptionError, ShapeError
from ostinato.pdg.functions import FLOATS, INTS
from ostinato.pdg.grad.axis_adjoints import flip
from ostinato.pdg.index import Expr, Slice, expr, floordiv, product
from ostinato.pdg.naming import called, sized
from ostinato.pdg.node import Node

MOST_SELECTED = 128  # of a row: to sort all of it is as fast where more are wanted
SIDES = {"left": "searchleft", "right": "searchright"}


def cumulative(fn: str, x: Node, axis: int | None, where: str = "") -> Node:
    """Return a cumulative function along an axis (None: of all elements in order)."""
    x, k = _row(x, axis, where)
    operand = convert(x, accepted(x.dtype, AXIS_FUNCTIONS[fn].accepts), where=where)
    return build.along(fn, [operand], k, where=where)


def _row(x: Node, axis: int | None, where: str) -> tuple[Node, int]:
    """The tensor and an axis from the right; None flattens the tensor to one axis."""
    if axis is None:
        return build.reshape(x, (product(x.shape),), where=where), -1
    return x, axis_of(x, axis, where) - x.rank


def linear_recurrence(
    gates: Operand, values: Operand, axis: int, reverse: bool = False, where: str = ""
) -> Node:
    """Return ``y[k] = values[k] + gates[k] * y[k - 1]`` (``k + 1`` in reverse), 0 before."""
    dtype = accepted(common_dtype((gates, values), where), AXIS_FUNCTIONS["linear"].accepts)
    both = convert_all((gates, values), dtype, where)
    rank = max(x.rank for x in both)
    wide = [pad_rank(x, rank) for x in both]
    k = axis_of(wide[1], axis, where) - rank
    size = next((x.shape[k] for x in wide if x.shape[k] != ONE), ONE)
    rows = [_repeated(x, k, size, where) for x in wide]
    if reverse:
        rows = [flip(x, k, where) for x in rows]
    out = build.along("linear", rows, k, where=where)
    return flip(out, k, where) if reverse else out


def _repeated(x: Node, axis: int, size: Expr, where: str) -> Node:
    """The tensor with an axis of size 1 (negative) repeated to a size."""
    if x.shape[axis] != ONE:
        return x
    shape = tuple(size if k - x.rank == axis else s for k, s in enumerate(x.shape))
    return broadcast_to(x, shape, where)


def order(x: Node, axis: int | None, descending: bool = False, where: str = "") -> Node:
    """Return the int32 positions that put an axis in order; equal elements keep theirs."""
    x, k = _row(x, axis, where)
    operand = convert(x, accepted(x.dtype, AXIS_FUNCTIONS["argsort"].accepts), where=where)
    if not descending:
        return build.along("argsort", [operand], k, where=where)
    # Backwards twice, so that of equal elements the first stays first.
    turned = build.along("argsort", [flip(operand, k, where)], k, where=where)
    last = build.affine(x.shape[k] - 1)
    return build.map_node("sub", [last, flip(turned, k, where)], where=where)


def ordered(x: Node, axis: int | None, descending: bool = False, where: str = "") -> Node:
    """Return the elements along an axis in order."""
    x, k = _row(x, axis, where)
    return take_along(x, order(x, k, descending, where), k, where)


def top(x: Node, count: Expr, axis: int, where: str = "") -> tuple[Node, Node]:
    """Return the greatest elements along an axis in descending order, and their positions."""
    k = axis_of(x, axis, where)
    size = x.shape[k]
    if (size - count).is_const and not (size - count).const >= 0:
        fact = f"the {count} greatest of {size} elements along axis {axis} of {called(x)}"
        raise ShapeError(fact, f"Ask for at most {size}.", where)
    is_known = is_never_negative(size - count) and count.is_const
    if is_known and 0 < count.const <= MOST_SELECTED:
        operand = convert(x, accepted(x.dtype, AXIS_FUNCTIONS["top"].accepts), where=where)
        first = build.along("top", [operand], k - x.rank, count, where)
    else:  # whether the axis has so many elements is proved, or checked when the program runs
        first = part(order(x, k, True, where), k, Slice(expr(0), count), where)
    return take_along(x, first, k, where), first


def median(x: Node, axis: int | None, keepdims: bool = False, where: str = "") -> Node:
    """Return the middle element in order, or the mean of the two; NaN where there is one."""
    found, k = _row(convert(x, accepted(x.dtype, FLOATS), where=where), axis, where)
    place, size = k + found.rank, found.shape[k]
    if size == expr(0):
        fact = f"`median` of {sized(x)}: there are no elements"
        raise ShapeError(fact, "Give the axis at least one element.", where)
    row = ordered(found, k, where=where)
    low, high = (part(row, place, floordiv(size - d, 2), where) for d in (1, 0))
    middle = elementwise("mul", elementwise("add", low, high, where=where), 0.5, where=where)
    greatest = reduce("max", found, k, where=where)
    is_nan = elementwise("ne", greatest, greatest, where=where)
    out = select(is_nan, greatest, middle, where)
    if not keepdims:
        return out
    shape = tuple(ONE if axis is None or j - x.rank == k else s for j, s in enumerate(x.shape))
    return build.reshape(out, shape, where=where)


def search(row: Node, values: Operand, side: str, where: str = "") -> Node:
    """Return the int32 positions at which values would keep an axis in order.

    One row takes values of any shape; several rows take as many rows of values.
    """
    if side not in SIDES:
        raise OptionError(f"`searchsorted` with side={side!r}", 'Use "left" or "right".', where)
    dtype = accepted(common_dtype((row, values), where), AXIS_FUNCTIONS["searchleft"].accepts)
    known, sought = convert(row, dtype, where=where), convert(values, dtype, where=where)
    if row.rank == 1:
        flat = build.reshape(sought, (product(sought.shape),), where=where)
        found = build.along(SIDES[side], [known, flat], -1, where=where)
        return build.reshape(found, sought.shape, where=where)
    if row.rank != sought.rank:
        fact = f"`searchsorted` of {sized(sought)} in {sized(row)}"
        remedy = "Give one sorted row, or rows and values with as many axes as each other."
        raise ShapeError(fact, remedy, where)
    return build.along(SIDES[side], [known, sought], -1, where=where)


def scatter_add(updates: Operand, index: Node, size: Expr, axis: int, where: str = "") -> Node:
    """Return sums of updates by their positions along an axis, which gets ``size`` elements."""
    accepts = AXIS_FUNCTIONS["scatter"].accepts
    dtype = accepted(common_dtype((updates,), where), accepts)
    is_one = not isinstance(updates, Node) or not updates.rank
    x = convert(updates, dtype, where=where)
    x = pad_rank(x, index.rank) if is_one else x
    k = axis_of(x, axis, where) - x.rank
    if index.rank == 0:
        index = pad_rank(index, x.rank)
    elif index.rank == 1:
        index = pad_rank(build.reshape(index, (*index.shape, *(ONE,) * (-k - 1))), x.rank)
    if index.rank != x.rank:
        fact = f"updates {sized(x)} scattered by positions {sized(index)}"
        remedy = "Give one axis of positions, or one axis per axis of the updates."
        raise ShapeError(fact, remedy, where)
    moved = _repeated(x, k, index.shape[k], where)
    places = _repeated(_within(index, size, where), k, moved.shape[k], where)
    return build.along("scatter", [moved, places], k, size, where)


def _within(index: Node, size: Expr, where: str) -> Node:
    """The positions as int32; those that int32 cannot hold are outside in both types."""
    if index.dtype not in INTS:
        fact = f"positions {called(index)} ({index.dtype})"
        raise DtypeError(fact, "Cast the positions to an integer type.", where)
    if index.dtype == "int32":
        return index
    end = convert(build.affine(size), index.dtype, where=where)
    inside = elementwise("minimum", index, end, where=where)
    if index.dtype == "int64":
        inside = elementwise("maximum", inside, -1, where=where)
    return convert(inside, "int32", where=where)
