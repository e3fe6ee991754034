"""Index expressions and conditions as Python source over int64 scalars."""

from __future__ import annotations

from collections.abc import Mapping
from typing import assert_never

from ostinato.codegen.cpu.python_text import COMPARISON, PRODUCT, SUM, UNARY, Text, binary, call
from ostinato.pdg.condition import Compare, Cond, Every, Negation, Some
from ostinato.pdg.index import Atom, Dim, Expr, Extent, Extremum, FloorDiv, Mod, Product

Names = Mapping[Dim | Extent, str]


def name_of(symbol: Dim | Extent, names: Names) -> str:
    """The Python name of a dimension or extent; its own name unless it was renamed."""
    return names.get(symbol, symbol.name)


def expression(of: Expr, names: Names) -> Text:
    """The expression as int64 arithmetic.

    >>> t, n = Dim("t"), Extent("T")
    >>> str(expression(2 * (Expr(((t, 1),), 1)) - Expr(((n, 1),), 0), {}))
    '2 * t - T + 2'
    """
    out: Text | None = None
    for atom, k in sorted(of.terms, key=lambda term: term[1] < 0):  # no leading minus
        part = _scaled(_atom(atom, names), abs(k))
        if out is None:
            out = part if k > 0 else Text(f"-{part.within(UNARY)}", SUM)
        else:
            out = binary("+" if k > 0 else "-", SUM, out, part)
    if out is None:
        return Text(str(of.const)) if of.const >= 0 else Text(str(of.const), UNARY)
    if of.const:
        out = binary("+" if of.const > 0 else "-", SUM, out, Text(str(abs(of.const))))
    return out


def _scaled(part: Text, k: int) -> Text:
    return part if k == 1 else binary("*", PRODUCT, Text(str(k)), part)


def _atom(atom: Atom, names: Names) -> Text:
    match atom:
        case Dim() | Extent():
            return Text(name_of(atom, names))
        case FloorDiv(of, by):
            return binary("//", PRODUCT, expression(of, names), Text(str(by)))
        case Mod(of, by):
            return binary("%", PRODUCT, expression(of, names), Text(str(by)))
        case Extremum(kind, of):
            return call(kind, *(expression(e, names) for e in of))
        case Product(of):
            first, *rest = (expression(e, names) for e in of)
            for factor in rest:
                first = binary("*", PRODUCT, first, factor)
            return first
        case other:
            assert_never(other)


def condition(cond: Cond, names: Names) -> Text:
    """The condition as a Python boolean.

    >>> str(condition(Compare(Expr(((Dim("t"), 1),), -1), "ge"), {}))
    't >= 1'
    """
    match cond:
        case Compare(of, kind):
            positive = Expr(tuple((a, k) for a, k in of.terms if k > 0), max(of.const, 0))
            left, right = expression(positive, names), expression(positive - of, names)
            return Text(f"{left} {'>=' if kind == 'ge' else '=='} {right}", COMPARISON)
        case Every(of_):
            return _joined(" and ", of_, names) if of_ else Text("True")
        case Some(of_):
            return _joined(" or ", of_, names) if of_ else Text("False")
        case Negation(of_):
            return Text(f"not {_inner(of_, names)}", 0)
        case other:
            assert_never(other)


def _joined(word: str, conds: tuple[Cond, ...], names: Names) -> Text:
    return Text(word.join(_inner(c, names) for c in conds), 0)


def _inner(cond: Cond, names: Names) -> str:
    return condition(cond, names).within(COMPARISON)
