"""Incremental: where the greatest, or the least, of a growing range is, from where it was before.

``greatest_at(f, n, i)``: the order f of n positions has that of the greatest element at i.

``before(d, i, c)``: index i is ``d - 1``, where c holds; ``after(d, i, c)``: it is ``d + 1``. As in
NumPy, the first of equal elements counts, and the first NaN before all others. So the last element
of a range is its place if it is greater than the greatest before it, or the first NaN; the first
one is its place if it is at least the greatest of the others, or NaN.
"""

from __future__ import annotations

from ostinato.rewrite.engine.rule import Rule
from ostinato.rewrite.rules.family import Family
from ostinato.rewrite.terms import *

ONE_STEP = "The best so far and its place: one comparison per point, not a pass over the range."

_law = Family("incremental/", "proofs/test_places.py", ONE_STEP, "reassociates", "inside the box")

a, b, c, d, f, g, h, i, k, m, n, o, r = variables("a b c d f g h i k m n o r")
s, u, x, z = variables("s u x z")

_NOTHING, _ONE = reshape(0, o, z), reshape(0, o, u)
_LEADING = (eq(m, 1 << rank(x)), is_in(d, dom(x)))
_SHAPES = (eq(r, rank(x)), ones(r, o), eq(h, shape(x)))
_NUMBERS = (zero("int32", z), unit("int32", u))


def _place(name: str, law: str, right: Term, *when: Fact) -> Rule:
    known = (*when, places(f, g, b, a), *_LEADING, *_SHAPES, *_NUMBERS)
    return _law(f"{name}-place", law, red(f, m, sl(d, s, x)), right, *known)


def _if_any(there: Term) -> Term:
    """What holds where there is another step, else 0."""
    return case(c, there, bcast(h, _NOTHING))


_BEFORE, _AFTER = at(d, i, scan(g, d, x)), at(d, i, back(g, d, x))
_BEYOND = map2("and", map1("not", map2(b, x, _BEFORE)), map2("eq", _BEFORE, _BEFORE))
_REACHES = map2("or", map2(a, x, _AFTER), map2("ne", x, x))
_STEP = where(_REACHES, _NOTHING, _ONE)
_HERE = where(_BEYOND, reshape(0, o, leaf(k)), _NOTHING)

PLACES: tuple[Rule, ...] = (
    _law("greatest-in-order",
         "the last element in order, or the first of the greatest ones, is the greatest",
         part(k, i, gather(k, x, along1(f, k, n, x))), red("max", m, x),
         greatest_at(f, n, i), eq(m, 1 << (k - 1)), exact="zero signs",
         reason="The greatest of a range is known step by step, its order is not."),
    _place("prefix",
           "the place of the greatest of x[0 : d + 1] = d where x[d] is beyond all before, else "
           "that of x[0 : d], and so for the least",
           lin(d, 0, where(_BEYOND, _NOTHING, _ONE), _if_any(_HERE)),
           prefix(d, s), before(d, i, c), here(k, d)),
    _place("suffix",
           "the place of the greatest of x[d : D] = 0 where x[d] reaches all after, else 1 + that "
           "of x[d + 1 : D], and so for the least",
           lin(d, 1, _STEP, _if_any(_STEP)), suffix(d, s), after(d, i, c)),
)  # fmt: skip
