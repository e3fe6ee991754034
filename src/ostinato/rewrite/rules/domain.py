"""Domain: where values are computed. Reads at other points move so that work can leave a loop.

``free(x)`` masks the dimensions along which all points of ``x`` exist before any recurrence runs,
``gap(x)`` those along which it may be undefined somewhere. ``box(d, s)``: slice s lies inside the
box; ``indicator(c, m)``: the truth value m is condition c; ``known(x, c, d, p)``: c holds on the
first steps p of d, and x exists there before any recurrence runs.
"""

from __future__ import annotations

from ostinato.rewrite.engine.rule import Rule
from ostinato.rewrite.rules.family import Family
from ostinato.rewrite.terms import *

a, b, c, d, e, h, i, m, p, q, r, s = variables("a b c d e h i m p q r s")
w, x, y = variables("w x y")

_law = Family("domain/", "proofs/test_pointwise.py")


def _lifted(op: Operator, fields: tuple[Variable, ...], *when: Fact) -> Rule:
    return _law(
        f"lift-{op.head}",
        f"{op.head}(x[d = i]) = {op.head}(x)[d = i]",
        op(*fields, at(d, a, x)),
        at(d, a, op(*fields, x)),
        is_in(d, free(x)),
        not_in(d, sdom(x)),
        *when,
        reason="Movement of inputs follows them out of a loop.",
    )


def _split(side: str, holds: Asking, first: Variable, second: Variable) -> Rule:
    return _law(
        f"split-{side}",
        f"slice(d in lo..hi, x where {'d < m' if first is x else 'm <= d'}, else y) = "
        f"{first}[lo:m] ++ {second}[m:hi]",
        sl(d, s, case(c, x, y)),
        cat(r + 1, sl(d, p, first), sl(d, q, second)),
        holds(c, d, s, p, q),
        eq(r, rank(x)),
        not_in(d, sdom(x)),
        not_in(d, sdom(y)),
        reason="The points of each case are computed together, without asking which case it is.",
        valid="inside the box",
    )


DOMAIN: tuple[Rule, ...] = (
    _lifted(tr, ()),
    _lifted(reshape, (r, h), not_in(d, hmask(h))),
    _law("lift-product", "x[d = i] @ W = (x @ W)[d = i]",
         mm(at(d, a, x), w), at(d, a, mm(x, w)),
         eq(m, free(x)), is_in(d, m), not_in(d, sdom(x)), not_in(d, dom(w)),
         also=(want(mm(x, w), m),),
         reason="The product with inputs of all steps is one product outside the loop over steps."),
    _split("low", holds_low, x, y),
    _split("high", holds_high, y, x),
    _law("known-prefix", "x where c holds, else y = slice(d in 0..n, x)[d] where c holds, else y",
         case(c, x, y), case(c, part(r + 1, e, sl(d, p, x)), y),
         known(x, c, d, p), eq(e, self(d)), eq(r, rank(x)), not_in(d, sdom(x)),
         reason="What is known before a loop begins is computed for all its steps at once."),
    _law("mask", "slice(d, x where c holds, else y) = where(slice(d, c), slice(d, x), slice(d, y))",
         sl(d, s, case(c, x, y)), where(sl(d, s, reshape(0, h, m)), sl(d, s, x), sl(d, s, y)),
         indicator(c, m), eq(0, rank(m)), is_in(d, mask(c)), box(d, s), not_in(mask(c), gap(x)),
         not_in(mask(c), gap(y)), eq(r, rank(x)), ones(r, h), not_in(d, sdom(x)),
         not_in(d, sdom(y)),
         reason="Both cases are computed for all points at once, and each point picks its own."),
    _law("pinned-read", "x[d = i] where d = i, else y, is x where d = i, else y",
         case(c, at(d, i, x), y), case(c, x, y),
         pins(c, d, i), not_in(d, sdom(x)),
         reason="A value read at the only point where it is asked for is the value there."),
    _law("case-and",
         "x where a and b hold, else y = (x where b holds, else y) where a holds, else y",
         case(c, x, y), case(a, case(b, x, y), y),
         both(c, a, b), reason="A conjunction is cut one condition at a time."),
)  # fmt: skip
