"""Matmul: products of many small matrices become one product of large ones."""

from __future__ import annotations

from ostinato.rewrite.engine.rule import Rule
from ostinato.rewrite.rules.phrases import *
from ostinato.rewrite.terms import *

PROOF = "proofs/test_pointwise.py"
d, k, n, p, q, s, w, x, y = variables("d k n p q s w x y")


def _outer_sum(count: int) -> Rule:
    """A sum of products over leading axes, as one product whose inner axis is all of them.

    Of one axis, others may stand in front; of several, none, so that few readings decide the law.
    """
    leading = [Variable(f"n{j}") for j in range(count)]
    whole = axes(x, *leading, p, k), axes(y, *leading, k, n)
    last = [axis(of, j, a) for of, sizes_of in ((x, (k, p)), (y, (n, k)))
            for j, a in enumerate((*sizes_of, *leading), 1)]  # fmt: skip
    rows: Expression = k
    for size in reversed(leading):
        rows = times(size, rows)
    axes_of = count + 2
    return Rule(
        name=f"matmul/outer-sum-{count}",
        law="sum over rows of x^T y = (all rows of x)^T (all rows of y)",
        reason="A weight gradient is one matrix product instead of a sum of outer products.",
        left=total(((1 << count) - 1) << 2, mm(x, y)),
        right=mm(
            tr(reshape(axes_of, sizes(rows, p), tr(x))),
            reshape(axes_of, sizes(rows, n), y),
        ),
        when=tuple(last) if count == 1 else whole,
        exact="reassociates",
        proof=PROOF,
    )


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
    _outer_sum(1),
    _outer_sum(2),
    _outer_sum(3),
)
