"""Affine: a recurrence whose step is ``a + g x'`` is a linear recurrence, however it is spelled.

``x'`` is the recurrence ``r`` one step earlier, at index ``i`` of the dimension that carries it
(``neighbour(r, d, i, b)``; ``b`` is 1 for a loop that runs backwards). ``scaled(r, y, g)``: ``y =
g x'``; ``affine(r, y, g, a)``: ``y = a + g x'``; ``clear(r, y)``: ``y`` does not read the
recurrence. ``body(r, c, s, y)``: the recurrence is ``s`` where ``c`` holds, else ``y``. ``only(c,
d, b)``: the condition holds at the first step and nowhere else.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from ostinato.rewrite.engine.rule import Exactness, Rule
from ostinato.rewrite.terms import *

STEP = "Follows what a step does to the value of the step before."
PROOF = "proofs/test_affine.py"

a, b, c, d, e, f, g, h, i, n, o, r, s = variables("a b c d e f g h i n o r s")
u, w, x, y, z = variables("u w x y z")

_ONE, _NOTHING = reshape(0, o, u), reshape(0, o, z)
_ONES = (eq(n, rank(x)), ones(n, o))
_UNIT, _ZERO = (unit(dtype(x), u), *_ONES), (zero(dtype(x), z), *_ONES)
_LINE, _RAY = affine(r, y, g, a), scaled(r, y, g)  # a + g x', g x'
_LINE_2, _RAY_2 = affine(r, w, h, b), scaled(r, w, h)
_FREE = clear(r, w)

_KEPT: dict[Exactness, str] = {
    "exact": "neighbour-scaled|neg-scaled|ray-plus|ray-minus|minus-ray|case-rays-scaled|case-lines",
    "zero signs": "neg|case-ray-line|case-line-ray",
    "reassociates": "product-scaled|line-plus|minus-line|where-.*",
}


def _step(name: str, law: str, term: Expression, concluded: Fact, *when: Fact) -> Rule:
    """What is known of operands of a term says what the term is."""
    kept: list[Exactness] = [e for e, names in _KEPT.items() if re.fullmatch(names, name)]
    exact: Exactness = kept[0] if kept else "distributes"
    return Rule(
        name=f"affine/{name}",
        law=law,
        reason=STEP,
        left=x,
        right=x,
        when=(*(() if term is x else (eq(x, term),)), *when),
        also=(concluded,),
        exact=exact,
        proof=PROOF,
    )


def _scaled(name: str, law: str, term: Expression, g: Expression, *when: Fact) -> Rule:
    return _step(f"{name}-scaled", law, term, scaled(r, x, g), *when)


def _affine(
    name: str, law: str, term: Expression, g: Expression, a: Expression, *when: Fact
) -> Rule:
    return _step(name, law, term, affine(r, x, g, a), *when)


_ONE_OPERAND = (
    _scaled("neighbour", "x' = 1 x'", at(d, i, rec(r)), _ONE, neighbour(r, d, i, b), *_UNIT),
    _scaled("neg", "-(g x') = (-g) x'", neg(y), neg(g), _RAY),
    _affine("neg", "-(a + g x') = -a + (-g) x'", neg(y), neg(g), neg(a), _LINE),
)


def _times() -> Iterator[Rule]:
    """A product with, or a quotient by, a value that does not read the recurrence."""
    known = (either(f, x, y, w), scales(f), _FREE)
    law = "y w, and y / w, is a multiple of x' if y is"
    yield _scaled("product", law, x, map2(f, g, w), _RAY, *known)
    law = "y w, and y / w, is affine in x' if y is"
    yield _affine("product", law, x, map2(f, g, w), map2(f, a, w), _LINE, *known)


def _sums() -> Iterator[Rule]:
    """A sum with, or a difference from, a value that does not read the recurrence."""
    law = "g x' + w is affine in x'"
    yield _affine("ray-plus", law, x, g, w, _RAY, _FREE, either("add", x, y, w))
    law = "g x' - w is affine in x'"
    yield _affine("ray-minus", law, sub(y, w), g, neg(w), _RAY, _FREE)
    law = "w - g x' is affine in x'"
    yield _affine("minus-ray", law, sub(w, y), neg(g), w, _RAY, _FREE)
    law, known = "(a + g x') + w is affine in x', and so for differences", either(f, x, y, w)
    yield _affine("line-plus", law, x, g, map2(f, a, w), _LINE, _FREE, known, adds(f))
    law = "w - (a + g x') is affine in x'"
    yield _affine("minus-line", law, sub(w, y), neg(g), sub(w, a), _LINE, _FREE)


def _both() -> Iterator[Rule]:
    """Sums and differences of two values that both read the recurrence."""
    term, factor, known = map2(f, y, w), map2(f, g, h), adds(f)
    law = "g x' + h x' = (g + h) x', and so for differences"
    yield _scaled("sum-rays", law, term, factor, _RAY, _RAY_2, known)
    law = "g x' + (b + h x') = b + (g + h) x'"
    yield _affine("sum-ray-line", law, add(y, w), add(g, h), b, _RAY, _LINE_2)
    law = "g x' - (b + h x') = -b + (g - h) x'"
    yield _affine("difference-ray-line", law, sub(y, w), sub(g, h), neg(b), _RAY, _LINE_2)
    law = "(a + g x') + h x' = a + (g + h) x', and so for differences"
    yield _affine("sum-line-ray", law, term, factor, a, _LINE, _RAY_2, known)
    law = "(a + g x') + (b + h x') = (a + b) + (g + h) x', and so for differences"
    yield _affine("sum-lines", law, term, factor, map2(f, a, b), _LINE, _LINE_2, known)


def _chosen(first: Expression, second: Expression) -> Term:
    """A case of two values, which have the shape ``e`` of the result."""
    return case(c, bcast(e, first), bcast(e, second))


def _chosen_both(
    name: str, term: Term, choice: Callable[[Expression, Expression], Term], same: Fact
) -> Iterator[Rule]:
    """A choice between two values that both read the recurrence.

    Where only one of them does, the choice hides the step before, and with it infinities and NaN,
    which a factor 0 would not.
    """
    factor = choice(g, h)
    law = "where(c, g x', h x') = where(c, g, h) x'"
    yield _scaled(f"{name}-rays", law, term, factor, _RAY, _RAY_2, same)
    law = "where(c, g x', b + h x') = where(c, 0, b) + where(c, g, h) x'"
    known = (_RAY, _LINE_2, *_ZERO, same)
    yield _affine(f"{name}-ray-line", law, term, factor, choice(_NOTHING, b), *known)
    law = "where(c, a + g x', h x') = where(c, a, 0) + where(c, g, h) x'"
    known = (_LINE, _RAY_2, *_ZERO, same)
    yield _affine(f"{name}-line-ray", law, term, factor, choice(a, _NOTHING), *known)
    law = "where(c, a + g x', b + h x') = where(c, a, b) + where(c, g, h) x'"
    yield _affine(f"{name}-lines", law, term, factor, choice(a, b), _LINE, _LINE_2, same)


_CHOICES = (
    *_chosen_both("where", where(c, y, w), lambda g, h: where(c, g, h), clear(r, c)),
    *_chosen_both("case", case(c, y, w), _chosen, eq(e, shape(x))),
)


def _closed(name: str, known: Fact, start: Term, *when: Fact) -> Rule:
    """The recurrence itself, once its step is known to be affine."""
    return Rule(
        name=f"affine/{name}",
        law=f"x = s at the first step, then {'a + ' * (known == _LINE)}g x', is linear",
        reason="Every reader is served by one linear recurrence, whatever its spelling.",
        left=x,
        right=lin(d, b, g, start),
        when=(
            eq(x, rec(r)),
            neighbour(r, d, i, b),
            body(r, c, s, y),
            known,
            only(c, d, b),
            eq(e, shape(x)),
            not_in(d, sdom(s)),
            *when,
        ),
        also=(closed(r),),
        exact="reassociates",
        valid="inside the box",
        proof=PROOF,
    )


AFFINE: tuple[Rule, ...] = (
    *_ONE_OPERAND,
    *_times(),
    *_sums(),
    *_both(),
    *_CHOICES,
    _closed("line", _LINE, _chosen(s, a)),
    _closed("ray", _RAY, _chosen(s, _NOTHING), *_ZERO),
)
