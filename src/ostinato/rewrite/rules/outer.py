"""Incremental: products of histories as running sums of outer products.

``(q k[: t + 1]^T) v[: t + 1]`` without a softmax between is ``q S[t]`` where S is the running sum
of ``k[s]^T v[s]``: a step costs the size of S, not the number of steps before it.
"""

from __future__ import annotations

from ostinato.rewrite.engine.rule import Rule

PROOF = "proofs/test_outer.py"
ONE_STEP = "A running sum of outer products takes one of them per point."
FIRST = "Keys and values of all steps meet in a matrix that does not grow."

_K, _V = "(sl d s k)", "(sl d s v)"
_VECTORS = ("(growing s)", "(= 1 (rank k))", "(= 1 (rank v))", "(!= 0 (& d (dom k)))")
_SUM = f"(mm (tr {_K}) {_V})"


def _rule(name: str, law: str, reason: str, left: str, right: str, *when: str) -> Rule:
    return Rule(
        name=f"incremental/{name}",
        law=law,
        reason=reason,
        left=left,
        right=right,
        when=(*_VECTORS, *when),
        exact="distributes" if reason is FIRST else "reassociates",
        valid="inside the box" if reason is FIRST else "everywhere",
        proof=PROOF,
    )


OUTER: tuple[Rule, ...] = (
    _rule(
        "outer-products",
        "k[range]^T v[range] = the sum of k[s]^T v[s] over the range",
        ONE_STEP,
        _SUM,
        '(red "sum" 4 (sl d s (map2 "mul" (reshape 1 (cons a (cons (size 1) (nil))) k) '
        "(reshape 1 (cons (size 1) (cons c (nil))) v))))",
        "(axis k 1 a)",
        "(axis v 1 c)",
    ),
    _rule(
        "queries-last",
        "(q k[range]^T) v[range] = q (k[range]^T v[range])",
        FIRST,
        f"(mm (mm q (tr {_K})) {_V})",
        f"(mm q {_SUM})",
        "(filled (size (length s)))",
        "(axis k 1 a)",
        "(filled a)",
    ),
    _rule(
        "query-last",
        "(k[range] q) v[range] = q (k[range]^T v[range])",
        FIRST,
        "(mm (reshape 2 (cons (size 1) (cons n (nil))) "
        f"(mm {_K} (reshape 1 (cons a (cons (size 1) (nil))) q))) {_V})",
        f"(mm (reshape 1 (cons (size 1) (cons a (nil))) q) {_SUM})",
        "(= 1 (rank q))",
        "(= n (size (length s)))",
        "(filled n)",
        "(axis k 1 a)",
        "(filled a)",
    ),
)
