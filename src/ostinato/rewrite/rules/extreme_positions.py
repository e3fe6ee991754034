"""Incremental: where the greatest, or the least, of a growing range is, from where it was before.

``before(d, i, c)``: index i is ``d - 1``, where c holds; ``after(d, i, c)``: it is ``d + 1``. As in
NumPy, the first of equal elements counts, and the first NaN before all others. So the last element
of a range is its place if it is greater than the greatest before it, or the first NaN; the first
one is its place if it is at least the greatest of the others, or NaN.
"""

from __future__ import annotations

from collections.abc import Iterator

from ostinato.rewrite.engine.rule import Rule
from ostinato.rewrite.terms import *

ONE_STEP = "The best so far and its place: one comparison per point, not a pass over the range."

c, d, h, i, k, m, o, r, s, u, x, z = variables("c d h i k m o r s u x z")

_NOTHING, _ONE = reshape(0, o, z), reshape(0, o, u)
_LEADING = (eq(m, 1 << rank(x)), is_in(d, dom(x)))
_SHAPES = (eq(r, rank(x)), ones(r, o), eq(h, shape(x)))
_NUMBERS = (zero("int32", z), unit("int32", u))


def _place(name: str, law: str, fold: str, right: Term, *when: Fact) -> Rule:
    return Rule(
        name=f"incremental/{name}-{fold}",
        law=law,
        reason=ONE_STEP,
        left=red(fold, m, sl(d, s, x)),
        right=right,
        when=(*when, *_LEADING, *_SHAPES, *_NUMBERS),
        exact="reassociates",
        valid="inside the box",
        proof="proofs/test_places.py",
    )


def _if_any(there: Term) -> Term:
    """What holds where there is another step, else 0."""
    return case(c, there, bcast(h, _NOTHING))


def _places() -> Iterator[Rule]:
    for fold, most, passed, reaches in (
        ("argmax", "max", "le", "ge"),
        ("argmin", "min", "ge", "le"),
    ):
        best = at(d, i, scan(most, d, x))
        better = map1("not", map2(passed, x, best))
        found = map2("and", better, map2("eq", best, best))
        position = where(found, reshape(0, o, leaf(k)), _NOTHING)
        law = f"{fold}(x[0 : d + 1]) = d where x[d] is beyond all before, else that of x[0 : d]"
        right = lin(d, 0, where(found, _NOTHING, _ONE), _if_any(position))
        yield _place("prefix", law, fold, right, prefix(d, s), before(d, i, c), here(k, d))
        best = at(d, i, back(most, d, x))
        found = map2("or", map2(reaches, x, best), map2("ne", x, x))
        step = where(found, _NOTHING, _ONE)
        law = f"{fold}(x[d : D]) = 0 where x[d] reaches all after, else 1 + that of x[d + 1 : D]"
        yield _place(
            "suffix", law, fold, lin(d, 1, step, _if_any(step)), suffix(d, s), after(d, i, c)
        )


PLACES: tuple[Rule, ...] = tuple(_places())
