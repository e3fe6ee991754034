"""Elementwise functions with promotion and broadcasting."""

from __future__ import annotations

from ostinato.language.array.dtypes import (
    Operand,
    accepted,
    common_dtype,
    convert,
    convert_all,
    scalar_dtype,
)
from ostinato.language.array.movement import broadcast_to, broadcast_together, expand
from ostinato.pdg import build
from ostinato.pdg.condition import ALWAYS, Cond
from ostinato.pdg.constant import Scalar
from ostinato.pdg.errors import DtypeError
from ostinato.pdg.functions import FUNCTIONS, INTS
from ostinato.pdg.index import Expr
from ostinato.pdg.naming import called
from ostinato.pdg.node import Broadcast, Const, Dtype, Node, Reshape

ROUNDING = ("floor", "ceil", "round")


def elementwise(fn: str, *operands: Operand, where: str = "") -> Node:
    """Return a function of `ostinato.pdg.functions` of operands brought to one type."""
    dtype = accepted(common_dtype(operands, where), FUNCTIONS[fn].accepts)
    if fn in ROUNDING and not common_dtype(operands).startswith("float"):
        return convert(operands[0], common_dtype(operands), where=where)  # integers are round
    return build.map_node(fn, convert_all(operands, dtype, where), where=where)


def power(x: Operand, y: Operand, where: str = "") -> Node:
    """Return ``x ** y``; small constant exponents become products."""
    if isinstance(x, Node) and y == 0.5 and x.dtype.startswith("float"):
        return elementwise("sqrt", x, where=where)
    if isinstance(x, Node) and isinstance(y, int) and not isinstance(y, bool) and 1 <= y <= 4:
        square = x if y == 1 else elementwise("mul", x, x, where=where)
        if y <= 2:
            return square
        return elementwise("mul", square, x if y == 3 else square, where=where)
    _check_exponent(x, y, where)
    return elementwise("pow", x, y, where=where)


def _check_exponent(x: Operand, y: Operand, where: str) -> None:
    """Refuse a negative constant power of integers, which no integer can hold."""
    if common_dtype((x, y), where) not in INTS:
        return
    node = y
    while isinstance(node, Node) and isinstance(node.op, Broadcast | Reshape):
        node = node.args[0]
    if not isinstance(node, Node):
        given: tuple[Scalar, ...] = (node,)
    else:
        given = node.op.values if isinstance(node.op, Const) else ()
    negative = next((value for value in given if value < 0), None)
    if negative is not None:
        remedy = 'Cast it with `.cast("float32")`, or use a power of at least 0.'
        shown = called(x) if isinstance(x, Node) else str(x)
        raise DtypeError(f"{shown}, an integer, to the power {negative}", remedy, where)


def select(cond: Node, x: Operand, y: Operand, where: str = "") -> Node:
    """Return ``x`` where a boolean tensor is true, else ``y``."""
    dtype = common_dtype((x, y), where)
    rank = max(a.rank for a in (cond, x, y) if isinstance(a, Node))
    args = [convert(a, dtype, rank, where) for a in (x, y)]
    return build.map_node("where", [cond, *args], where=where)


def choose(cond: Cond, x: Operand, y: Operand, where: str = "") -> Node:
    """Return ``x`` at the points where a condition holds, else ``y``, which is not evaluated."""
    dtype = common_dtype((x, y), where)
    left, right = broadcast_together(convert_all((x, y), dtype, where), where)
    return build.case(cond, left, right, where)


def truth(cond: Cond) -> Node:
    """Return a condition as a boolean tensor."""
    yes = build.const(True, "bool")
    return yes if cond == ALWAYS else build.case(cond, yes, build.const(False, "bool"))


def one_hot(index: Node, size: Expr, dtype: Dtype, where: str = "") -> Node:
    """Return 1 at ``index`` along a new last axis of the given size, 0 elsewhere."""
    if index.dtype.startswith("float"):
        fact = f"one_hot of {called(index)} ({index.dtype})"
        raise DtypeError(fact, "Cast the positions to an integer type.", where)
    count = convert(build.iota(size), index.dtype, where=where)
    hot = elementwise("eq", expand(index, -1, where), count, where=where)
    return convert(broadcast_to(hot, (*index.shape, size), where), dtype, where=where)


SIGN = {"and": "&", "or": "|", "xor": "^", "shl": "<<", "shr": ">>"}
LOGICAL = {"and": "and", "or": "or", "xor": "ne"}
BITWISE = {"and": "bitand", "or": "bitor", "xor": "bitxor", "shl": "shl", "shr": "shr"}


def bitwise(fn: str, x: Operand, y: Operand, where: str = "") -> Node:
    """Return one of `SIGN`; booleans shift as int32.

    Errors: DtypeError for floats.
    """
    dtype = common_dtype((x, y), where)
    if dtype == "bool" and fn in ("shl", "shr"):
        dtype = "int32"
    if dtype != "bool" and dtype not in INTS:
        shown = " and ".join(map(_shown, (x, y)))
        raise DtypeError(f"`{SIGN[fn]}` of {shown}", "It takes booleans and integers.", where)
    name = (LOGICAL if dtype == "bool" else BITWISE)[fn]
    return build.map_node(name, convert_all((x, y), dtype, where), where=where)


def _shown(x: Operand) -> str:
    return f"{called(x)} ({x.dtype})" if isinstance(x, Node) else f"{x} ({scalar_dtype(x)})"


def invert(x: Node, where: str = "") -> Node:
    """Return ``~x``: the other truth value, or the integer with every bit flipped."""
    if x.dtype == "bool":
        return build.map_node("not", [x], where=where)
    if x.dtype not in INTS:
        raise DtypeError(f"`~` of {_shown(x)}", "It takes booleans and integers.", where)
    ones = 2**32 - 1 if x.dtype == "uint32" else -1
    return bitwise("xor", x, ones, where)
