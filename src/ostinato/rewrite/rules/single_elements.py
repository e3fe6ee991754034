"""Incremental: one element of what is computed from a range is computed from one step of it.

``alone(p, i)``: the slice p has the index i alone. An element is the part of that length, which
moves inwards as every part does (`ostinato.rewrite.rules.tiles`) and ends at a plain read.
"""

from __future__ import annotations

from ostinato.rewrite.rules.family import Family
from ostinato.rewrite.terms import *

ONE = "Where one element is asked for, the others need not be computed."

d, h, i, k, n, p, r, x = variables("d h i k n p r x")

_law = Family("incremental/", "proofs/test_elements.py", ONE)

ELEMENTS = (
    _law("element-as-part", "x[i] of an axis as long as a range = x[i : i + 1][0]",
         part(k, i, x), part(k, 0, cut(k, p, x)),
         alone(p, i), section(n, p), axis(x, k, size(n))),
    _law("range-of-one-step", "x[i : i + 1] = x[d = i] with a new axis",
         sl(d, p, x), reshape(r, h, at(d, i, x)),
         alone(p, i), eq(r, rank(x)), eq(h, shape(LHS))),
)  # fmt: skip
