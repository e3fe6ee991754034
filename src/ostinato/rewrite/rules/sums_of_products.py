"""Matmul: sums of products are matrix products, however they are spelled.

A contraction is the sum over axes of a product of two values of which each has size 1 along an
axis of the other: the rows of one, the columns of the other. The laws bring the summed axis to the
end, where one law makes a matrix product of it; axes that both have, and further rows, are axes in
front. What is left out and moved on the way has size 1, so that most of it is nothing in the end.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial

from ostinato.rewrite.engine.rule import Rule
from ostinato.rewrite.rules.family import Family
from ostinato.rewrite.rules.phrases import *
from ostinato.rewrite.terms import *

PRODUCT = "A matrix product keeps rows and columns in registers; a sum of products reads them anew."
ONE_FORM = "Contractions have few forms, of which one law makes products."
CHAIN = "The order in which a chain is multiplied decides how much work it is."
PROOF = "proofs/test_contractions.py"
MASKS = f"unproved: it computes with masks of axes; {PROOF} decides every mask of 5 axes"

d, e, h, i, j, k, m, n, p = variables("d e h i j k m n p")
q, r, s, x, y, z = variables("q r s x y z")

_law = Family("matmul/", PROOF, ONE_FORM)
_FLOATS = (eq(e, dtype(x)), ne(e, "int32"), ne(e, "int64"), ne(e, "uint32"))


def _lacks(of: Variable, where: Operand, other: Variable, size_there: Variable) -> tuple[Fact, ...]:
    """A value has size 1 along an axis along which the other has several elements."""
    return axis(of, where, 1), axis(other, where, size_there), ne(size_there, size(1))


def _both(where: Operand) -> tuple[Fact, ...]:
    """Both have the summed axis."""
    return axis(x, where, k), axis(y, where, k)


_CONTRACTED = (*_lacks(y, i, x, n), *_lacks(x, j, y, q), *_FLOATS)
_ROWS = mv(i - 1, 2, part(j, 0, x))
_COLUMNS = tr(mv(j, 2, part(i, 0, y)))
_made = partial(_law, reason=PRODUCT, exact="reassociates")


def _products() -> Iterator[Rule]:
    """Sums of products that are a product of matrices or of a vector."""
    found = either("mul", z, x, y)
    law = "sum(x y) over the last axis = X Y, put back in place"
    right = mv(1, j - 1, mv(2, i - 1, mm(_ROWS, _COLUMNS)))
    facts = (found, *_both(1), *_CONTRACTED, 1 < j, j < i)
    yield _made("contraction", law, total(1, z), right, *facts)
    law = "sum(x y) over the last axis = X times y as a column, put back in place"
    right = mv(1, i - 1, part(1, 0, mm(mv(i, 2, x), tr(mv(i, 2, y)))))
    facts = (found, *_both(1), *_lacks(y, i, x, n), 1 < i, *_FLOATS)
    yield _made("matrix-by-vector", law, total(1, z), right, *facts)
    law = "sum(y x) over an axis in front = y as a row times X"
    right = part(2, 0, mm(tr(mv(p, 2, y)), mv(p, 2, x)))
    facts = (found, eq(m, 1 << (p - 1)), 1 < p, *_both(p), *_lacks(y, 1, x, n), *_FLOATS)
    yield _made("vector-by-matrix", law, total(m, z), right, *facts)


def _same_at_all_points() -> Rule:
    """What does not depend on a dimension has size 1 along its axis in a product."""
    law = "sum(slice(d, x) y) = sum(x y) where x is free of d"
    vector = (axis(x, 1, k), ne(k, size(1)))
    of_all = (axis(sl(d, s, x), r + 1, n), axis(y, r + 1, n))
    found = either("mul", z, sl(d, s, x), y)
    facts = (found, not_in(d, dom(x)), eq(r, rank(x)), eq(h, shape(x)), *vector, *of_all, *_FLOATS)
    once = mul(reshape(r, sizes(1, then=h), x), y)
    return _law("same-at-all-points", law, total(m, z), total(m, once), *facts)


_LENGTHS = (axis(x, 1, k), axis(y, 1, q), filled(k), filled(q))
_chain = partial(_law, reason=CHAIN, exact="distributes", valid="inside the box")

CONTRACTION: tuple[Rule, ...] = (
    replace(
        _law("one-sum-after-the-other", "sum(x y) over several axes = one sum after the other",
             total(m, mul(x, y)), total(m - (1 << (p - 1)), total(1 << (p - 1), mul(x, y))),
             axis(x, p, k), eq(1, m >> (p - 1)), ne(m, 1 << (p - 1)), *_CONTRACTED,
             exact="reassociates"),
        proof=MASKS),
    _law("sum-over-rows", "sum(x y) over axis -2 = sum(x^T y^T) over the last one",
         total(2, mul(x, y)), total(1, mul(tr(x), tr(y))), *_CONTRACTED),
    _law("sum-in-front", "sum(x y) over an axis in front = the sum over that axis moved to the end",
         total(m, mul(x, y)), total(1, mul(mv(p, 1, x), mv(p, 1, y))),
         axis(x, p, k), 2 < p, eq(m, 1 << (p - 1)), *_CONTRACTED),
    *_products(),
    _same_at_all_points(),
    _law("shared-rows", "x Y for all rows of x = one product, where Y has size 1 in front",
         mm(x, y),
         reshape(2, sizes(n, p, q), mm(reshape(3, sizes(times(n, p), k), x), part(3, 0, y))),
         *_lacks(y, 3, x, n), axis(x, 2, p), axis(x, 1, k), axis(y, 2, k), axis(y, 1, q),
         reason="Rows of a batch share the matrix, so they are rows of one product."),
    _chain("left-first", "x (y z) = (x y) z", mm(x, mm(y, z)), mm(mm(x, y), z), *_LENGTHS),
    _chain("right-first", "(x y) z = x (y z)", mm(mm(x, y), z), mm(x, mm(y, z)), *_LENGTHS),
)  # fmt: skip
