"""Fuse: products that share an operand become slices of one product.

``x @ a`` and ``x @ b`` read all of ``x`` twice, and each fills vectors and registers by itself;
``x @ [a | b]`` reads it once. What is joined is narrow (see
`ostinato.rewrite.load.joined_products`), and the price decides: joining copies the operands that
differ, and the results lie in strides.
"""

from __future__ import annotations

from ostinato.rewrite.engine.rule import Rule
from ostinato.rewrite.rules.family import Family
from ostinato.rewrite.terms import *

k, m, n, q, s, t, w, x, y, z = variables("k m n q s t w x y z")

ONCE = "Products with one operand in common read it once."
_law = Family("fuse/", "proofs/test_pointwise.py", ONCE)

FUSE: tuple[Rule, ...] = (
    _law("parts", "y and z are the first and the last part of [y | z]", w, w,
         eq(w, cat(k, y, z)), halves(n, m, t, s, q), axis(y, k, size(n)), axis(z, k, size(m)),
         also=(lies_in(y, k, s, w), lies_in(z, k, q, w)), phase="spread"),
    _law("columns", "x @ y = some columns of x @ w where y is a part of w",
         mm(x, y), cut(1, s, mm(x, w)), lies_in(y, 1, s, w)),
    _law("rows", "y @ x = some rows of w @ x where y is a part of w",
         mm(y, x), cut(2, s, mm(w, x)), lies_in(y, 2, s, w)),
)  # fmt: skip
