"""Fuse: products that share an operand become slices of one product.

``x @ a`` and ``x @ b`` read all of ``x`` twice, and each fills vectors and registers by itself;
``x @ [a | b]`` reads it once. What is joined is narrow (see
`ostinato.rewrite.load.joined_products`), and the price decides: joining copies the operands that
differ, and the results lie in strides.
"""

from __future__ import annotations

from ostinato.rewrite.engine.rule import Rule
from ostinato.rewrite.terms import *

m, n, q, s, t, w, x, y, z = variables("m n q s t w x y z")


def _joined(k: int, is_first: bool) -> Rule:
    """One of two products, as a slice of the product of what is joined along axis ``-k``."""
    side, along = ("left", "columns") if k == 1 else ("right", "rows")
    place, mine, piece = ("first", y, s) if is_first else ("last", z, q)
    if k == 1:
        law = f"x @ {mine} = the {place} columns of x @ [y | z]"
        own, whole = mm(x, mine), mm(x, w)
    else:
        law = f"{mine} @ x = the {place} rows of [y; z] @ x"
        own, whole = mm(mine, x), mm(w, x)
    return Rule(
        name=f"fuse/{place}-{along}",
        law=law,
        reason=f"Products with the same {side} operand read it once.",
        left=own,
        right=cut(k, piece, whole),
        when=(
            halves(n, m, t, s, q),
            eq(w, cat(k, y, z)),
            axis(y, k, size(n)),
            *(() if is_first else (axis(z, k, size(m)),)),
        ),
        proof="proofs/test_pointwise.py",
    )


FUSE: tuple[Rule, ...] = tuple(
    _joined(axis, is_first) for axis in (1, 2) for is_first in (True, False)
)
