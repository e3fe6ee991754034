"""Index expressions and conditions as loop IR over int64 numbers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import assert_never

from ostinato.codegen.loops.expression import (
    Constant,
    Expression,
    Logic,
    Name,
    Negative,
    Not,
    binary,
    call,
    compare,
)
from ostinato.pdg.bounds import is_never_negative
from ostinato.pdg.condition import Compare, Cond, Every, Negation, Some
from ostinato.pdg.index import Atom, Dim, Expr, Extent, Extremum, FloorDiv, Mod, Product

Names = Mapping[Dim | Extent, str]


def name_of(symbol: Dim | Extent, names: Names) -> str:
    """The Python name of a dimension or extent; its own name unless it was renamed."""
    return names.get(symbol, symbol.name)


def expression(of: Expr, names: Names) -> Expression:
    """The expression as int64 arithmetic.

    >>> t, n = Dim("t"), Extent("T")
    >>> str(expression(2 * (Expr(((t, 1),), 1)) - Expr(((n, 1),), 0), {}))
    '2 * t - T + 2'
    """
    out: Expression | None = None
    for atom, k in sorted(of.terms, key=lambda term: term[1] < 0):  # no leading minus
        part = _scaled(_atom(atom, names), abs(k))
        if out is None:
            out = part if k > 0 else Negative(part)
        else:
            out = binary("+" if k > 0 else "-", out, part)
    if out is None:
        return Constant(of.const)
    if of.const:
        out = binary("+" if of.const > 0 else "-", out, abs(of.const))
    return out


def _scaled(part: Expression, k: int) -> Expression:
    return part if k == 1 else binary("*", k, part)


def _atom(atom: Atom, names: Names) -> Expression:
    match atom:
        case Dim() | Extent():
            return Name(name_of(atom, names))
        case FloorDiv(of, by):
            return binary("//", expression(of, names), by)
        case Mod(of, by):
            return binary("%", expression(of, names), by)
        case Extremum(kind, of):
            return call(kind, *(expression(e, names) for e in of))
        case Product(of):
            first, *rest = (expression(e, names) for e in of)
            for factor in rest:
                first = binary("*", first, factor)
            return first
        case other:
            assert_never(other)


def whole_blocks(size: Expr, each: int, names: Names) -> Expression:
    """The last multiple of a power of 2 up to a size; 0 where the size is below 0.

    A range that nobody needs may end before it begins: nothing is done there either.
    """
    found = expression(size, names)
    return binary("&", found if is_never_negative(size) else call("max", 0, found), -each)


def condition(cond: Cond, names: Names) -> Expression:
    """The condition as a boolean.

    >>> str(condition(Compare(Expr(((Dim("t"), 1),), -1), "ge"), {}))
    't >= 1'
    """
    match cond:
        case Compare(of, kind):
            positive = Expr(tuple((a, k) for a, k in of.terms if k > 0), max(of.const, 0))
            left, right = expression(positive, names), expression(positive - of, names)
            return compare(">=" if kind == "ge" else "==", left, right)
        case Every(of_):
            return _joined("and", of_, names)
        case Some(of_):
            return _joined("or", of_, names)
        case Negation(of_):
            return Not(condition(of_, names))
        case other:
            assert_never(other)


def _joined(word: str, conds: tuple[Cond, ...], names: Names) -> Expression:
    if not conds:
        return Constant(word == "and")
    return Logic(word, tuple(condition(each, names) for each in conds))
