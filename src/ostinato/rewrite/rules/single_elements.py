"""Incremental: one element of what is computed from a range is computed from one step of it.

``alone(p, i)``: the slice p has the index i alone, which is the step a of the range s where
``step(s, i, a)``. An element is the part of that length, which moves inwards as every part does
(`ostinato.rewrite.rules.tiles`) and ends at a plain read.
"""

from __future__ import annotations

from ostinato.rewrite.rules.family import Family
from ostinato.rewrite.terms import *

ONE = "Where one element is asked for, the others need not be computed."

a, d, h, i, k, n, p, r, s, x = variables("a d h i k n p r s x")

_law = Family("incremental/", "proofs/test_elements.py", ONE)

ELEMENTS = (
    _law("element-as-part", "x[i] of an axis as long as a range = x[i : i + 1][0]",
         part(k, i, x), part(k, 0, cut(k, p, x)),
         alone(p, i), section(n, p), axis(x, k, size(n))),
    _law("one-step-of-range", "x[lo:hi][i : i + 1] = x[d = lo + i] with a new axis",
         cut(k, p, sl(d, s, x)), reshape(r, h, at(d, a, x)),
         alone(p, i), step(s, i, a), eq(r, rank(x)), eq(k, 1 + r), eq(h, shape(LHS))),
)  # fmt: skip
