"""Factors: what a linear recurrence multiplies with, and adds, has one form for every mask.

``factor(e, x)``: a step of a recurrence multiplies with x, of type e, or adds it, or x is a part of
a product or a sum of this kind. A mask ``b`` may be ``where(b, w, 0)``, ``w b`` or ``w (1 - b)``,
with ``w`` on either side; all of them become a choice around the other factors. A choice between
sums with a common part is that part and a choice: it may stand inside or outside of a step.
"""

from __future__ import annotations

from collections.abc import Iterator

from ostinato.rewrite.engine.rule import Phase, Rule
from ostinato.rewrite.rules.family import Family
from ostinato.rewrite.terms import *

MARKED = "Marks what a recurrence multiplies with: only there the laws of masks are tried."
ONE_FORM = "A step that stops at the end of an episode has one factor, however it is written."

_law = Family("affine/", "proofs/test_affine.py", ONE_FORM)

a, b, c, e, f, g, n, o, r, u = variables("a b c e f g n o r u")
v, w, x, y, z = variables("v w x y z")

_NOTHING = reshape(0, o, z)
_ZERO = (zero(e, z), eq(n, rank(x)), ones(n, o))
_NO_VALUE = eq(0.0, value(z))
_BOUNDED = bounded(w)  # an infinite factor makes NaN of nothing
_TRUTH = map1(f, b)


def _noted(name: str, law: str, phase: Phase, *when: Fact, of: tuple[Variable, ...] = (x,)) -> Rule:
    """The operands of a product are factors too."""
    also, reason = tuple(factor(e, part) for part in of), MARKED
    return _law(name, law, x, x, *when, also=also, reason=reason, phase=phase)


def _form(name: str, law: str, found: Fact, right: Term, *when: Fact) -> Rule:
    """A factor in one form; ``found`` says what it is."""
    return _law(name, law, x, right, found, factor(e, x), *when, exact="reassociates")


def _masked(name: str, shown: str, mask: Term, right: Term, *more: Fact) -> Rule:
    """A truth value as a number, or one minus it, times a value on either side."""
    chosen = "w, 0" if right.fields[2] == w else "0, w"
    law = f"w times {shown} = where(b, {chosen})"
    facts = (eq("bool", dtype(b)), real_cast(f), *_ZERO, _BOUNDED, *more)
    return _form(name, law, either("mul", x, w, mask), right, *facts)


def _or_nothing(x: Expression) -> Term:
    return where(c, x, z)


def _choices() -> Iterator[Rule]:
    """A choice between a value and nothing, which may stand on either side."""
    law = "w where(c, y, 0) = where(c, w y, 0)"
    around = either("mul", x, w, _or_nothing(y))
    yield _form("product-around-choice", law, around, _or_nothing(mul(w, y)), _NO_VALUE, _BOUNDED)
    law = "where(c, w y, 0) = w where(c, y, 0)"
    inside = eq(x, _or_nothing(mul(w, y)))
    yield _form("choice-of-product", law, inside, mul(w, _or_nothing(y)), _NO_VALUE, _BOUNDED)


def _commons() -> Iterator[Rule]:
    """Choices between values with a common part ``w``."""
    chosen = where(c, y, v)
    law = "where(c, f(y, w), f(v, w)) = f(where(c, y, v), w)"
    sides = where(c, map2(f, y, w), map2(f, v, w))
    yield _form("common-last", law, eq(x, sides), map2(f, chosen, w))
    law = "where(c, f(w, y), f(w, v)) = f(w, where(c, y, v))"
    sides = where(c, map2(f, w, y), map2(f, w, v))
    yield _form("common-first", law, eq(x, sides), map2(f, w, chosen))
    known = (either(f, u, w, y), adds(f), *_ZERO)
    law = "where(c, w + y, w) = w + where(c, y, 0), and so for differences"
    yield _form("common-rest", law, eq(x, where(c, u, w)),
                map2(f, w, where(c, y, _NOTHING)), *known)  # fmt: skip


_STEP = "what multiplies the step before, and what is added to that, has factors"
_ONE = (eq(1.0, value(u)), eq(o, shape(u)))
FACTORS: tuple[Rule, ...] = (
    _noted("factor", _STEP, "seed", affine(r, x, g, a), eq(e, dtype(x)), of=(g, a)),
    _noted("factors", "both operands of a product or a sum are factors",
           "spread", eq(x, map2(f, y, w)), factor(e, x), arithmetic(f), of=(y, w)),
    _masked("mask", "b", _TRUTH, where(b, w, _NOTHING)),
    _masked("unmask", "1 - b", sub(u, _TRUTH), where(b, _NOTHING, w), *_ONE),
    _law("other-side", "a choice in a step may be made by the opposite", x, x,
         eq(x, where(c, y, v)), factor(e, x), also=(opposite(c, map1("not", c)),)),
    *_choices(),
    *_commons(),
)  # fmt: skip
