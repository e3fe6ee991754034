"""Incremental: products of histories as running sums of outer products.

``(q k[: t + 1]^T) v[: t + 1]`` without a softmax between is ``q S[t]`` where S is the running sum
of ``k[s]^T v[s]``: a step costs the size of S, not the number of steps before it.
"""

from __future__ import annotations

from collections.abc import Iterator

from ostinato.rewrite.engine.rule import Rule
from ostinato.rewrite.rules.family import Family
from ostinato.rewrite.rules.phrases import *
from ostinato.rewrite.terms import *

PROOF = "proofs/test_outer.py"
ONE_STEP = "A running sum of outer products takes one of them per point."
FIRST = "Keys and values of all steps meet in a matrix that does not grow."


a, c, d, k, n, q, s, v, w, x = variables("a c d k n q s v w x")

_KEYS, _VALUES = sl(d, s, k), sl(d, s, v)
_VECTORS = (growing(s), eq(1, rank(k)), eq(1, rank(v)), is_in(d, dom(k)))
_WIDTH = axis(k, 1, a)
_SUM = mm(tr(_KEYS), _VALUES)


_rule = Family("incremental/", PROOF, FIRST, "distributes", "inside the box", when=_VECTORS)


def _weighted() -> Iterator[Rule]:
    """Scores with weights on them, before the values: weights go to the keys."""
    law = "(q k[range]^T w) v[range] = q ((w k[range])^T v[range])"
    weighted = mul(column(n, w), _KEYS)
    state = mm(tr(weighted), _VALUES)
    some = (eq(1, rank(w)), axis(w, 1, n), filled(n), _WIDTH, filled(a))
    known = (eq(n, size(length(s))), *some)
    scores = either("mul", x, row(n, w), mm(q, tr(_KEYS)))
    yield _rule("weighted-scores", law, mm(x, _VALUES), mm(q, state), scores, *known)
    law = "(w (k[range] q)) v[range] = q ((w k[range])^T v[range])"
    scores = either("mul", x, w, reshape(2, sizes(n), mm(_KEYS, column(a, q))))
    left, right = mm(row(n, x), _VALUES), mm(row(a, q), state)
    yield _rule("weighted-query", law, left, right, scores, *known, eq(1, rank(q)))


OUTER: tuple[Rule, ...] = (
    _rule("outer-products", "k[range]^T v[range] = the sum of k[s]^T v[s] over the range",
          _SUM, total(4, sl(d, s, mul(column(a, k), row(c, v)))),
          _WIDTH, axis(v, 1, c), reason=ONE_STEP, exact="reassociates", valid="everywhere"),
    _rule("query-last", "(k[range] q) v[range] = q (k[range]^T v[range])",
          mm(reshape(2, sizes(1, n), mm(_KEYS, column(a, q))), _VALUES), mm(row(a, q), _SUM),
          eq(1, rank(q)), eq(n, size(length(s))), filled(n), _WIDTH, filled(a)),
    *_weighted(),
)  # fmt: skip
