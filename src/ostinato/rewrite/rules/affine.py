"""Affine: a recurrence whose step is ``a + g x'`` is a linear recurrence, however it is spelled.

``x'`` is the recurrence ``r`` one step earlier, at index ``i`` of the dimension that carries it
(``neighbour(r, d, i, b)``; ``b`` is 1 for a loop that runs backwards). ``scaled(r, y, g)``: ``y =
g x'``; ``affine(r, y, g, a)``: ``y = a + g x'``; ``clear(r, y)``: ``y`` does not read the
recurrence. What is a multiple is affine with a 0, so the laws of lines are those of multiples too.
``body(r, c, s, y)``: the recurrence is ``s`` where ``c`` holds, else ``y``. ``only(c,
d, b)``: the condition holds at the first step and nowhere else.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from ostinato.rewrite.engine.rule import Exactness, Phase, Rule
from ostinato.rewrite.rules.family import Family
from ostinato.rewrite.terms import *

STEP = "Follows what a step does to the value of the step before."
_law = Family("affine/", "proofs/test_affine.py", STEP, "distributes")

a, b, c, d, e, f, g, h, i, n, o, r, s = variables("a b c d e f g h i n o r s")
u, w, x, y, z = variables("u w x y z")

_ONE, _NOTHING = reshape(0, o, u), reshape(0, o, z)
_ONES = (eq(n, rank(x)), ones(n, o))
_UNIT, _ZERO = (unit(dtype(x), u), *_ONES), (zero(dtype(x), z), *_ONES)
_LINE, _RAY = affine(r, y, g, a), scaled(r, y, g)  # a + g x', g x'
_LINE_2, _RAY_2 = affine(r, w, h, b), scaled(r, w, h)
_FREE = clear(r, w)
_TIMES = (either(f, x, y, w), scales(f), _FREE)

_KEPT: dict[Exactness, str] = {
    "exact": "neighbour-scaled|neg-scaled|case-lines",
    "zero signs": "neg|line-of-ray",
    "reassociates": "product-scaled|line-plus|minus-line|where-.*",
}


def _step(
    name: str, law: str, term: Expression, concluded: Fact, *when: Fact, phase: Phase = "rewrite"
) -> Rule:
    """What is known of operands of a term says what the term is."""
    kept: list[Exactness] = [e for e, names in _KEPT.items() if re.fullmatch(names, name)]
    known = when if term is x else (eq(x, term), *when)
    exact = kept[0] if kept else None
    return _law(name, law, x, x, *known, also=(concluded,), exact=exact, phase=phase)


def _affine(
    name: str, law: str, term: Expression, g: Expression, a: Expression, *when: Fact
) -> Rule:
    return _step(name, law, term, affine(r, x, g, a), *when)


def _multiples() -> Iterator[Rule]:
    """Multiples of the step before, all of which are found before any line: nothing is added."""

    def scaled_by(name: str, law: str, term: Expression, g: Expression, *when: Fact) -> Rule:
        return _step(f"{name}-scaled", law, term, scaled(r, x, g), *when, phase="spread")

    before = at(d, i, rec(r))
    yield scaled_by("neighbour", "x' = 1 x'", before, _ONE, neighbour(r, d, i, b), *_UNIT)
    yield scaled_by("neg", "-(g x') = (-g) x'", neg(y), neg(g), _RAY)
    law = "y w, and y / w, is a multiple of x' if y is"
    yield scaled_by("product", law, x, map2(f, g, w), _RAY, *_TIMES)
    law, rays = "where(c, g x', h x') = where(c, g, h) x'", where(c, y, w)
    yield scaled_by("where-rays", law, rays, where(c, g, h), _RAY, _RAY_2, clear(r, c))
    law = "g x' = 0 + g x'"
    yield _step("line-of-ray", law, x, affine(r, x, g, _NOTHING), scaled(r, x, g), *_ZERO,
                phase="spread")  # fmt: skip


def _lines() -> Iterator[Rule]:
    """Sums and products of what is affine with what does not read the recurrence, or is affine."""
    yield _affine("neg", "-(a + g x') = -a + (-g) x'", neg(y), neg(g), neg(a), _LINE)
    law = "y w, and y / w, is affine in x' if y is"
    yield _affine("product", law, x, map2(f, g, w), map2(f, a, w), _LINE, *_TIMES)
    law, known = "(a + g x') + w is affine in x', and so for differences", either(f, x, y, w)
    yield _affine("line-plus", law, x, g, map2(f, a, w), _LINE, _FREE, known, adds(f))
    law = "w - (a + g x') is affine in x'"
    yield _affine("minus-line", law, sub(w, y), neg(g), sub(w, a), _LINE, _FREE)
    law = "(a + g x') + (b + h x') = (a + b) + (g + h) x', and so for differences"
    lines = _LINE, _LINE_2, adds(f)
    yield _affine("sum-lines", law, map2(f, y, w), map2(f, g, h), map2(f, a, b), *lines)


def _chosen(first: Expression, second: Expression) -> Term:
    """A case of two values, which have the shape ``e`` of the result."""
    return case(c, bcast(e, first), bcast(e, second))


def _choices() -> Iterator[Rule]:
    """Choices between two values that both read the recurrence.

    Where only one of them does, the choice hides the step before, and with it infinities and NaN,
    which a factor 0 would not.
    """
    law = "where(c, a + g x', b + h x') = where(c, a, b) + where(c, g, h) x'"
    chosen, known = (where(c, g, h), where(c, a, b)), (_LINE, _LINE_2, clear(r, c))
    yield _affine("where-lines", law, where(c, y, w), *chosen, *known)
    law = "a + g x' where c holds, else b + h x', = (a, or b) + (g, or h) x'"
    chosen, known = (_chosen(g, h), _chosen(a, b)), (_LINE, _LINE_2, eq(e, shape(x)))
    yield _affine("case-lines", law, case(c, y, w), *chosen, *known)


AFFINE: tuple[Rule, ...] = (
    *_multiples(),
    *_lines(),
    *_choices(),
    _law(
        "line",
        "x = s at the first step, then a + g x', is linear",
        x,
        lin(d, b, g, _chosen(s, a)),
        *(eq(x, rec(r)), neighbour(r, d, i, b), body(r, c, s, y), _LINE, only(c, d, b)),
        *(eq(e, shape(x)), not_in(d, sdom(s))),
        also=(closed(r),),
        reason="Every reader is served by one linear recurrence, whatever its spelling.",
        exact="reassociates",
        valid="inside the box",
    ),
)
