"""Matmul: products of many small matrices become one product of large ones."""

from __future__ import annotations

from ostinato.rewrite.engine.rule import Rule
from ostinato.rewrite.rules.family import Family
from ostinato.rewrite.rules.phrases import *
from ostinato.rewrite.terms import *

PROOF = "proofs/test_pointwise.py"
MASKS = f"unproved: it computes with masks of axes; {PROOF} decides every mask of 5 axes"
d, k, m, n, p, q, r, s, w, x, y = variables("d k m n p q r s w x y")

_law = Family("matmul/", PROOF)


_ALL = "A weight gradient is one matrix product instead of a sum of outer products."
_OUTER = (
    _law("outer-sum", "sum over rows of x^T y = (all rows of x)^T (all rows of y)",
         total(4, mm(x, y)),
         mm(tr(reshape(3, sizes(times(r, k), p), tr(x))), reshape(3, sizes(times(r, k), n), y)),
         axis(x, 1, k), axis(x, 2, p), axis(x, 3, r), axis(y, 1, n), axis(y, 2, k), axis(y, 3, r),
         reason=_ALL, exact="reassociates", phase="normal"),
    _law("outer-sum-of-sums",
         "a sum of products over several axes of rows = one sum after the other",
         total(m, mm(x, y)), total((m - 4) >> 1, total(4, mm(x, y))), eq(4, m & 7), ne(m, 4),
         reason=_ALL, exact="reassociates", proof=MASKS, phase="normal"),
)  # fmt: skip
_ALL_ROWS = mm(reshape(3, sizes(times(n, p), k), x), w)

MATMUL: tuple[Rule, ...] = (
    _law("shared-right",
         "slice(d, A) @ W = one product of all rows of A with W, where W is free of d",
         mm(x, sl(d, s, w)), reshape(2, sizes(n, p, q), _ALL_ROWS),
         not_in(d, dom(w)), eq(n, size(length(s))), axes(x, n, p, k), axes(w, k, q),
         reason="Rows of a batch share the matrix, so they are rows of one product."),
    *_OUTER,
)  # fmt: skip
