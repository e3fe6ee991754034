"""Elementwise functions of ragged tensors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache

import numpy as np

from ostinato.language.array import elementwise as element
from ostinato.language.array import movement
from ostinato.language.array.dtypes import Operand, accepted, common_dtype
from ostinato.language.array.dtypes import convert as converted
from ostinato.language.ragged.mask import Live, Mask, Parts, replaced, together, union
from ostinato.language.tensor import Tensor, as_operand, as_tensor, sources_of
from ostinato.pdg import build
from ostinato.pdg.build import ONE
from ostinato.pdg.condition import Cond
from ostinato.pdg.constant import Scalar
from ostinato.pdg.functions import FUNCTIONS
from ostinato.pdg.node import Const, Dtype, Node
from ostinato.provenance.place import place

_LARGEST = 2**20  # whole numbers up to here are exact in every type


@cache
def safe_operands(fn: str) -> tuple[Scalar | None, ...]:
    """Return an operand at which a function and its derivative are finite; None where all are.

    >>> safe_operands("log"), safe_operands("div"), safe_operands("add")
    ((1.0,), (None, 1), (None, None))
    """
    function = FUNCTIONS[fn]
    if function.is_tame:
        return (None,) * function.arity
    if function.safe:
        return function.safe
    if function.arity > 1:
        return (1,) * function.arity
    around = np.array([-1e-3, 0.0, 1e-3])
    with np.errstate(all="ignore"):
        for value in (0.0, 1.0, 2.0, 0.5):
            if np.isfinite(function.numpy(value + around)).all():
                return (value,)
    raise AssertionError(f"`{fn}` is finite nowhere near 0, 1, 2 and 0.5")


def filled(x: Tensor, value: object) -> Tensor:
    """Return a tensor without a mask, whose dead elements have a value."""
    if not x.mask.parts:
        return x
    if isinstance(value, bool | int | float):
        return Tensor(dense(x, value), x.sources)
    node = element.select(together(x.mask.parts), x.node, as_operand(value), place())
    return Tensor(node, sources_of(x, value))


def dense(x: Tensor, value: Scalar, parts: Parts | None = None) -> Node:
    """Return the node with a value at the elements that are dead by ``parts``, or by any part."""
    dead = x.mask.parts if parts is None else parts
    return x.node if not dead or x.mask.fill == value else replaced(x.node, dead, value, place())


def elementwise(fn: str, *operands: object) -> Tensor:
    """Return an elementwise function of `ostinato.pdg.functions`."""
    where = place()
    nodes = [as_operand(x) for x in operands]
    dtype = accepted(common_dtype(nodes, where), FUNCTIONS[fn].accepts)

    def made(lifted: Sequence[Operand]) -> Node:
        return element.elementwise(fn, *lifted, where=where)

    return _mapped(fn, operands, nodes, made, dtype)


def select(cond: Tensor, x: object, y: object) -> Tensor:
    """Return ``x`` where a boolean tensor is true, else ``y``."""
    where = place()
    nodes = [as_operand(value) for value in (cond, x, y)]

    def made(lifted: Sequence[Operand]) -> Node:
        first = lifted[0]
        assert isinstance(first, Node), "the condition is a tensor"
        return element.select(first, lifted[1], lifted[2], where)

    return _mapped("where", (cond, x, y), nodes, made, common_dtype(nodes[1:], where))


def convert(x: Tensor, dtype: Dtype) -> Tensor:
    """Return a tensor in another dtype."""
    fill = x.mask.fill
    if fill is not None:
        fill = bool(fill) if dtype == "bool" else fill if _is_whole(fill) else None
    return Tensor(converted(x.node, dtype, where=place()), x.sources, mask=Mask(x.mask.parts, fill))


def bitwise(fn: str, x: object, y: object) -> Tensor:
    """Return ``& | ^`` of booleans or of integers."""
    where = place()
    nodes = [as_operand(value) for value in (x, y)]

    def made(lifted: Sequence[Operand]) -> Node:
        return element.bitwise(fn, lifted[0], lifted[1], where)

    return _mapped("bitand", (x, y), nodes, made, None)


def invert(x: Tensor) -> Tensor:
    """Return the other truth value, or every bit turned."""
    return Tensor(element.invert(x.node, place()), x.sources, mask=Mask(x.mask.parts))


def power(x: object, y: object) -> Tensor:
    """Return ``x ** y``; small constant exponents become products."""
    if y == 0.5 and isinstance(x, Tensor) and x.dtype.startswith("float"):
        return elementwise("sqrt", x)
    if isinstance(x, Tensor) and isinstance(y, int) and not isinstance(y, bool) and 1 <= y <= 4:
        square = x if y == 1 else elementwise("mul", x, x)
        return square if y <= 2 else elementwise("mul", square, x if y == 3 else square)
    where = place()
    nodes = [as_operand(value) for value in (x, y)]
    dtype = common_dtype(nodes, where)

    def made(lifted: Sequence[Operand]) -> Node:
        return element.power(lifted[0], lifted[1], where)

    return _mapped("pow", (x, y), nodes, made, dtype)


def choose(cond: Cond, x: object, y: object) -> Tensor:
    """Return ``x`` at the points where a condition holds, else ``y``, with the mask of each."""
    where = place()
    node = element.choose(cond, as_operand(x), as_operand(y), where)
    both = [as_tensor(value) for value in (x, y)]
    masks = [value.mask.parts for value in both]
    fills = [value.mask.fill for value in both]
    fill = fills[0] if fills[0] == fills[1] else None
    if {*masks[0]} == {*masks[1]}:
        return Tensor(node, sources_of(*both), mask=Mask(union(masks, node.rank), fill))
    yes = build.const(True, "bool")
    sides = [together(union([parts], node.rank)) if parts else yes for parts in masks]
    ragged = frozenset[int]().union(*(part.ragged for parts in masks for part in parts))
    live = Live(element.choose(cond, sides[0], sides[1], where), ragged)
    return Tensor(node, sources_of(*both), mask=Mask((live,), fill))


def _mapped(
    fn: str,
    operands: Sequence[object],
    nodes: Sequence[Operand],
    made: Callable[[Sequence[Operand]], Node],
    dtype: Dtype | None,
) -> Tensor:
    """An elementwise function whose dead elements are finite, with the union of the masks.

    Without a dtype the values of dead elements are not followed.
    """
    rank = max(x.rank for x in nodes if isinstance(x, Node))
    parts = union([_parts(x) for x in operands], rank)
    lifted: list[Operand] = []
    fills: list[Scalar | None] = []
    for x, node, safe in zip(operands, nodes, safe_operands(fn), strict=True):
        guarded, fill = _guarded(x, node, parts, safe)
        lifted.append(guarded)
        fills.append(fill)
    out = made(lifted)
    fill = None if dtype is None else _fill(fn, fills, dtype)
    return Tensor(out, sources_of(*operands), mask=Mask(parts, fill))


def _parts(x: object) -> Parts:
    return x.mask.parts if isinstance(x, Tensor) else ()


def _guarded(
    x: object, node: Operand, parts: Parts, safe: Scalar | None
) -> tuple[Operand, Scalar | None]:
    """An operand that is finite at dead elements, and safe for the function; what it is there."""
    if not isinstance(node, Node):
        return node, node
    own = union([_parts(x)], parts[0].node.rank)
    fill = x.mask.fill if isinstance(x, Tensor) and x.mask.parts else _constant(node)
    lacking = tuple(part for part in parts if part not in own)
    dense_there = any(
        -axis <= node.rank and node.shape[axis] != ONE for part in lacking for axis in part.ragged
    )
    if lacking and (own or dense_there) and not isinstance(node.op, Const):
        value = safe if safe is not None else fill if own and fill is not None else 0
        known = value if safe is not None or not own or fill is not None else None
        return replaced(node, parts if safe is not None else lacking, value, place()), known
    if own and safe is not None and fill != safe:
        return replaced(node, own, safe, place()), safe
    return node, fill


def _constant(node: Node) -> Scalar | None:
    return node.op.values[0] if isinstance(node.op, Const) and len(node.op.values) == 1 else None


def _fill(fn: str, fills: Sequence[Scalar | None], dtype: Dtype) -> Scalar | None:
    """The value of a function at known whole operands, if it is a whole number too."""
    known = [fill for fill in fills if fill is not None]
    if len(known) < len(fills) or fn == "cast" or not all(map(_is_whole, known)):
        return None
    with np.errstate(all="ignore"):
        first = known[0] if fn == "where" else np.asarray(known[0], dtype)
        out = FUNCTIONS[fn].numpy(first, *(np.asarray(f, dtype) for f in known[1:]))
    value: Scalar = np.asarray(out).item()
    return value if _is_whole(value) else None


def _is_whole(value: Scalar) -> bool:
    return abs(value) <= _LARGEST and value == int(value)


def one_hot(index: Tensor, size: object, dtype: Dtype) -> Tensor:
    """Return 1 at an index along a new last axis, 0 elsewhere."""
    node = element.one_hot(index.node, size, dtype, place())  # type: ignore[arg-type]
    parts = tuple(
        Live(movement.expand(p.node, -1), frozenset(a - 1 for a in p.ragged))
        for p in index.mask.parts
    )
    return Tensor(node, index.sources, mask=Mask(parts))
