"""Domain: where values are computed. Reads at other points move so that work can leave a loop.

``free(x)`` masks the dimensions along which all points of ``x`` exist before any recurrence runs,
``gap(x)`` those along which it may be undefined somewhere. ``box(d, s)``: slice s lies inside the
box; ``indicator(c, m)``: the truth value m is condition c; ``known(x, c, d, p)``: c holds on the
first steps p of d, and x exists there before any recurrence runs.
"""

from __future__ import annotations

from functools import partial

from ostinato.rewrite.engine.rule import Rule
from ostinato.rewrite.terms import *

a, b, c, d, e, h, i, m, p, q, r, s = variables("a b c d e h i m p q r s")
w, x, y = variables("w x y")

_rule = partial(Rule, proof="proofs/test_pointwise.py")


def _lifted(op: Operator, fields: tuple[Variable, ...], *when: Fact) -> Rule:
    return _rule(
        name=f"domain/lift-{op.head}",
        law=f"{op.head}(x[d = i]) = {op.head}(x)[d = i]",
        reason="Movement of inputs follows them out of a loop.",
        left=op(*fields, at(d, a, x)),
        right=at(d, a, op(*fields, x)),
        when=(is_in(d, free(x)), not_in(d, sdom(x)), *when),
    )


def _split(side: str, holds: Asking, first: Variable, second: Variable) -> Rule:
    return _rule(
        name=f"domain/split-{side}",
        law="slice(d in lo..hi, x where d < m, else y) = x[lo:m] ++ y[m:hi]",
        reason="The points of each case are computed together, without asking which case it is.",
        left=sl(d, s, case(c, x, y)),
        right=cat(r + 1, sl(d, p, first), sl(d, q, second)),
        when=(holds(c, d, s, p, q), eq(r, rank(x)), not_in(d, sdom(x)), not_in(d, sdom(y))),
        valid="inside the box",
    )


DOMAIN: tuple[Rule, ...] = (
    _lifted(tr, ()),
    _lifted(reshape, (r, h), not_in(d, hmask(h))),
    _rule(
        name="domain/lift-product",
        law="x[d = i] @ W = (x @ W)[d = i]",
        reason="The product with inputs of all steps is one product outside the loop over steps.",
        left=mm(at(d, a, x), w),
        right=at(d, a, mm(x, w)),
        when=(eq(m, free(x)), is_in(d, m), not_in(d, sdom(x)), not_in(d, dom(w))),
        also=(want(mm(x, w), m),),
    ),
    _split("low", holds_low, x, y),
    _split("high", holds_high, y, x),
    _rule(
        name="domain/known-prefix",
        law="x where c holds, else y = slice(d in 0..n, x)[d] where c holds, else y",
        reason="What is known before a loop begins is computed for all its steps at once.",
        left=case(c, x, y),
        right=case(c, part(r + 1, e, sl(d, p, x)), y),
        when=(known(x, c, d, p), eq(e, self(d)), eq(r, rank(x)), not_in(d, sdom(x))),
    ),
    _rule(
        name="domain/mask",
        law="slice(d, x where c holds, else y) = where(slice(d, c), slice(d, x), slice(d, y))",
        reason="Both cases are computed for all points at once, and each point picks its own.",
        left=sl(d, s, case(c, x, y)),
        right=where(sl(d, s, reshape(0, h, m)), sl(d, s, x), sl(d, s, y)),
        when=(
            indicator(c, m),
            eq(0, rank(m)),
            is_in(d, mask(c)),
            box(d, s),
            not_in(mask(c), gap(x)),
            not_in(mask(c), gap(y)),
            eq(r, rank(x)),
            ones(r, h),
            not_in(d, sdom(x)),
            not_in(d, sdom(y)),
        ),
    ),
    _rule(
        name="domain/pinned-read",
        law="x[d = i] where d = i, else y, is x where d = i, else y",
        reason="A value read at the only point where it is asked for is the value there.",
        left=case(c, at(d, i, x), y),
        right=case(c, x, y),
        when=(pins(c, d, i), not_in(d, sdom(x))),
    ),
    _rule(
        name="domain/case-and",
        law="x where a and b hold, else y = (x where b holds, else y) where a holds, else y",
        reason="A conjunction is cut one condition at a time.",
        left=case(c, x, y),
        right=case(a, case(b, x, y), y),
        when=(both(c, a, b),),
    ),
)
