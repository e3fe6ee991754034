"""Divisions of places and sizes, without what makes Numba's long.

A division of numbers with signs is some hundred instructions on a device. One by a power of two is
a shift, whatever the signs, and its remainder a mask. One of numbers that are never negative is one
of numbers without signs.
"""

from __future__ import annotations

from collections.abc import Set

from ostinato.codegen.cuda.rewriting import Exchange, quotient, remainder
from ostinato.codegen.loops.expression import Binary, Call, Constant, Expression, Name, binary


def without_long(never_negative: Set[str]) -> Exchange:
    """What exchanges a division; the names given stand for numbers from 0 on."""

    def changed(of: Expression) -> Expression:
        match of:
            case Binary("//" | "%" as op, x, Constant(int(by))) if by > 0 and by & (by - 1) == 0:
                is_quotient = op == "//"
                return (
                    binary(">>", x, by.bit_length() - 1) if is_quotient else binary("&", x, by - 1)
                )
            case Binary("//" | "%" as op, x, y) if _is_natural(x) and _is_natural(y):
                return quotient(x, y) if op == "//" else remainder(x, y)
            case _:
                return of

    def _is_natural(of: Expression) -> bool:
        match of:
            case Constant(int(value)):
                return value >= 0
            case Name(name):
                return name in never_negative
            case Binary("+" | "*" | "//" | "%" | ">>" | "&", x, y):
                return _is_natural(x) and _is_natural(y)
            case Call("min", args):
                return all(map(_is_natural, args))
            case Call("max", args):
                return any(map(_is_natural, args))
            case _:
                return False

    return changed
