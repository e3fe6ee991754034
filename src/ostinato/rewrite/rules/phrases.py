"""Terms that laws of several families are made of."""

from __future__ import annotations

from functools import partial

from ostinato.rewrite.terms import *

total, most = partial(red, "sum"), partial(red, "max")


def finite(number: Expression, nothing: Expression) -> Term:
    """A number, or nothing in place of infinities and NaN."""
    return where(map1("isfinite", number), number, nothing)


def row(n: Operand, x: Expression) -> Term:
    """A value of one axis as a matrix with one row."""
    return reshape(1, sizes(1, n), x)


def column(n: Operand, x: Expression) -> Term:
    """A value of one axis as a matrix with one column."""
    return reshape(1, sizes(n, 1), x)


def beside(x: Expression) -> Term:
    """Numbers with a new last axis of size 1."""
    return reshape(0, sizes(1), x)
