"""Matmul: products of many small matrices become one product of large ones."""

from __future__ import annotations

from ostinato.rewrite.engine.rule import Rule

PROOF = "proofs/test_pointwise.py"


def _outer_sum(axes: int) -> Rule:
    """A sum of products over all leading axes, as one product whose inner axis is all of them."""
    names = " ".join(f"n{k}" for k in range(axes))
    rows = "k"
    for name in reversed(names.split()):
        rows = f"(times {name} {rows})"
    rank = axes + 2
    x = f"(tr (reshape {rank} (cons {rows} (cons p (nil))) (tr x)))"
    y = f"(reshape {rank} (cons {rows} (cons n (nil))) y)"
    mask = ((1 << axes) - 1) << 2
    return Rule(
        name=f"matmul/outer-sum-{axes}",
        law="sum over rows of x^T y = (all rows of x)^T (all rows of y)",
        reason="A weight gradient is one matrix product instead of a sum of outer products.",
        left=f'(red "sum" {mask} (mm x y))',
        right=f"(mm {x} {y})",
        when=(f"(axes{rank} x {names} p k)", f"(axes{rank} y {names} k n)"),
        exact="reassociates",
        proof=PROOF,
    )


MATMUL: tuple[Rule, ...] = (
    Rule(
        name="matmul/shared-right",
        law="slice(d, A) @ W = one product of all rows of A with W, where W is free of d",
        reason="Rows of a batch share the matrix, so they are rows of one product.",
        left="(mm x (sl d s w))",
        right="(reshape 2 (cons n (cons p (cons q (nil)))) "
        "(mm (reshape 3 (cons (times n p) (cons k (nil))) x) w))",
        when=(
            "(= 0 (& d (dom w)))",
            "(= n (size (length s)))",
            "(axes3 x n p k)",
            "(axes2 w k q)",
        ),
        also=(
            "(set (shape (mm (reshape 3 (cons (times n p) (cons k (nil))) x) w)) "
            "(cons (times n p) (cons q (nil))))",
        ),
        proof=PROOF,
    ),
    _outer_sum(1),
    _outer_sum(2),
    _outer_sum(3),
)
