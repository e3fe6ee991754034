"""Matmul: products of many small matrices become one product of large ones."""

from __future__ import annotations

from ostinato.rewrite.engine.rule import Rule
from ostinato.rewrite.rules.phrases import *
from ostinato.rewrite.terms import *

PROOF = "proofs/test_pointwise.py"
MASKS = f"unproved: it computes with masks of axes; {PROOF} decides every mask of 5 axes"
d, k, m, n, p, q, r, s, w, x, y = variables("d k m n p q r s w x y")


_ALL = "A weight gradient is one matrix product instead of a sum of outer products."
_OUTER = (
    Rule(
        name="matmul/outer-sum",
        law="sum over rows of x^T y = (all rows of x)^T (all rows of y)",
        reason=_ALL,
        left=total(4, mm(x, y)),
        right=mm(
            tr(reshape(3, sizes(times(r, k), p), tr(x))),
            reshape(3, sizes(times(r, k), n), y),
        ),
        when=(axis(x, 1, k), axis(x, 2, p), axis(x, 3, r),
              axis(y, 1, n), axis(y, 2, k), axis(y, 3, r)),
        exact="reassociates",
        proof=PROOF,
        phase="normal",
    ),
    Rule(
        name="matmul/outer-sum-of-sums",
        law="a sum of products over several axes of rows = one sum after the other",
        reason=_ALL,
        left=total(m, mm(x, y)),
        right=total((m - 4) >> 1, total(4, mm(x, y))),
        when=(eq(4, m & 7), ne(m, 4)),
        exact="reassociates",
        proof=MASKS,
        phase="normal",
    ),
)  # fmt: skip
_ALL_ROWS = mm(reshape(3, sizes(times(n, p), k), x), w)

MATMUL: tuple[Rule, ...] = (
    Rule(
        name="matmul/shared-right",
        law="slice(d, A) @ W = one product of all rows of A with W, where W is free of d",
        reason="Rows of a batch share the matrix, so they are rows of one product.",
        left=mm(x, sl(d, s, w)),
        right=reshape(2, sizes(n, p, q), _ALL_ROWS),
        when=(not_in(d, dom(w)), eq(n, size(length(s))), axes(x, n, p, k), axes(w, k, q)),
        proof=PROOF,
    ),
    *_OUTER,
)
