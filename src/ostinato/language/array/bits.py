"""The operators ``& | ^ ~ << >>``: on the bits of integers, and logical on booleans."""

from __future__ import annotations

from ostinato.language.array.dtypes import Operand, common_dtype, convert_all, scalar_dtype
from ostinato.pdg import build
from ostinato.pdg.errors import DtypeError
from ostinato.pdg.functions import INTS
from ostinato.pdg.naming import called
from ostinato.pdg.node import Node

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
