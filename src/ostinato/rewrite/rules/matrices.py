"""Incremental: products with matrices of weights, by their lines.

``rows(m, d, s, y)``: at every point of d, of which s are all, the row of m is y, as a column;
``columns``: its column is. Loading finds them for matrices that are computed from positions. A row
is a vector of weights of the point, so the laws of weights and masks say what a product with it is,
such as a linear recurrence: T steps instead of T^2.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from ostinato.rewrite.engine.rule import Exactness, Rule
from ostinato.rewrite.rules.family import Family
from ostinato.rewrite.rules.phrases import *
from ostinato.rewrite.terms import *

BY_LINES = "What is known of sums with weights serves products with matrices of weights."
CHAINED = "Weights that are products of factors cost one multiply-add per step."

a, c, d, e, g, h, k, m, n, p = variables("a c d e g h k m n p")
q, r, s, u, v, w, x, y, z = variables("q r s u v w x y z")

_law = Family("incremental/", "proofs/test_matrices.py")
_ALL = (eq(q, full(d)), eq(n, size(length(q))), eq(e, self(d)))
_COLUMN = (eq(2, rank(y)), axis(y, 1, 1))


def _products() -> Iterator[Rule]:
    """A product with a matrix of weights as a sum with the weights of each point."""
    known = (*_ALL, *_COLUMN, eq(2, rank(x)), not_in(d, dom(x)))

    def summed(axis: int) -> Term:
        return sl(d, q, total(2, mul(y, sl(d, q, part(axis, e, x)))))

    by_lines = partial(_law, reason=BY_LINES, exact="reassociates")
    yield by_lines("product-by-rows", "(m x)[d] = sum_s m[d, s] x[s]",
                   mm(m, x), summed(2), rows(m, d, q, y), axis(x, 2, n), *known)  # fmt: skip
    yield by_lines("product-by-columns", "(x m)[d] = sum_s x[s] m[s, d]",
                   mm(x, m), tr(summed(1)), columns(m, d, q, y), axis(x, 1, n), *known)  # fmt: skip


_ONE = (eq(1.0, value(u)), eq(2, rank(u)), axis(u, 1, 1), axis(u, 2, 1))
_UNIT = (eq(r, dtype(u)), unit(r, z), ones(1, h))
_MASK = (eq(2, rank(c)), axis(c, 2, n), eq(2, k))


def _chains() -> Iterator[Rule]:
    """Running products of what a mask keeps: they begin behind the step of the line."""
    law = "where j >= i, prod_{k <= j} where(k > i, g[k - 1], 1) is g[i] times that of i + 1"
    factors = cat(2, w, sl(d, p, g))
    term = cut(2, s, along1("prod", 2, a, where(c, factors, u)))
    first = (but_last(d, p), eq(2, rank(w)), axis(w, 1, 1), axis(w, 2, 1))
    of_steps = (eq(1, rank(g)), axis(g, 1, 1), axis(factors, 2, n))
    behind = (suffix(d, s), rest(d, v), keeps(c, k, v), *_MASK, axis(c, 1, 1))
    yield _seen("chain-along", law, term, g, *behind, *first, *of_steps, exact="exact")
    law = "where j <= i, prod_{k <= i} where(k > j, g[k], 1) is g[i] times that of i - 1"
    running = along1("prod", 2, a, where(m, column(n, sl(d, q, g)), u))
    term = cut(2, s, column(n, part(2, e, running)))
    mask = (columns(m, d, q, c), rest(d, v), keeps(c, k, v), *_MASK)
    known = (prefix(d, s), *mask, *_ALL, eq(0, rank(g)))
    yield _seen("chain-down", law, term, reshape(0, h, g), *known)


def _seen(
    name: str,
    law: str,
    term: Term,
    factor: Expression,
    *when: Fact,
    exact: Exactness = "reassociates",
) -> Rule:
    """A term steps by a factor, and is 1 where it enters."""
    concluded = decay(x, d, s, factor, reshape(0, h, z))
    known = (eq(x, term), *when, *_ONE, *_UNIT)
    return _law(f"decay-{name}", law, x, x, *known, also=(concluded,), reason=CHAINED,
                exact=exact, valid="inside the box")  # fmt: skip


MATRICES: tuple[Rule, ...] = (*_products(), *_chains())
