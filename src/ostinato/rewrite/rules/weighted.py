"""Weighted: discounted sums over windows, and rows with masks as sums of products."""

from __future__ import annotations

from ostinato.rewrite.engine.rule import Rule
from ostinato.rewrite.rules.family import Family
from ostinato.rewrite.rules.phrases import *
from ostinato.rewrite.terms import *

_law = Family("incremental/", "proofs/test_weighted.py")
HALVES = "A long window of discounted steps is two of half the length."

a, c, d, e, f, g, h, i, j, k, n, p, q = variables("a c d e f g h i j k n p q")
s, t, w, x, y, z = variables("s t w x y z")

_NUMBER = eq(0, rank(x))


_OWN, _THERE = map1(f, t), at(d, a, map1(f, t))  # the steps of a half, and of the other one
_HALF = total(1, mul(power(g, map1(f, q)), sl(d, p, x)))


def _discounted(steps: Term, what: Term) -> Term:
    """What begins some steps later."""
    return mul(power(part(1, 0, g), steps), what)


_BOTH = add(_HALF, _discounted(_OWN, at(d, a, _HALF)))
_DOUBLED = case(c, _BOTH, _HALF)
_ONE_MORE = add(_BOTH, _discounted(add(_OWN, _THERE), at(d, i, x)))


WEIGHTED: tuple[Rule, ...] = (
    _law("discounted-window",
         "the discounted sum of a window = that of its first half + g^w times the other's, and "
         "for odd ones an element more",
         total(1, y), case(j, _DOUBLED, _ONE_MORE),
         halved(d, s, p, a, c, i, j), either("mul", y, power(g, map1(f, k)), sl(d, s, x)),
         begins(d, s), counter(s, k), counter(p, q), tally(p, t), real_cast(f), _NUMBER,
         eq(1, rank(g)), axis(g, 1, 1), not_in(d, dom(g)), is_in(d, dom(x)),
         reason=HALVES, exact="distributes", valid="inside the box"),
    _law("row-times-column", "a row times a column = the sum of products",
         mm(row(n, x), column(n, y)), reshape(0, sizes(1, 1), total(1, mul(x, y))),
         eq(1, rank(x)), eq(1, rank(y)), exact="reassociates",
         reason="A row of a triangle times a history may be a running sum."),
)  # fmt: skip
