"""Incremental: a fold over a growing range becomes one step from the fold before it.

``prefix(d, s)``: slice s is ``0 : d + 1``; ``suffix(d, s)``: it is ``d : D``. A fold over a range
of length n at each of n points is n^2 / 2 steps; the scan is n.
"""

from __future__ import annotations

from ostinato.rewrite.engine.rule import Rule
from ostinato.rewrite.rules.family import Family
from ostinato.rewrite.rules.phrases import *
from ostinato.rewrite.terms import *

ONE_STEP = "One step per point instead of one pass over the whole range."
c, d, f, g, h, m, n, q, r, s = variables("c d f g h m n q r s")
u, x, z = variables("u x z")

_law = Family(
    "incremental/",
    "proofs/test_incremental.py",
    ONE_STEP,
    exact="reassociates",
    valid="inside the box",
)
_LEADING = eq(m, 1 << rank(x))


def _prefix(fold: str) -> Rule:
    return _law(
        f"prefix-{fold}",
        f"{fold}(x[0 : d + 1]) = scan({fold}, x, d)",
        red(fold, m, sl(d, s, x)),
        scan(fold, d, x),
        prefix(d, s),
        _LEADING,
        is_in(d, dom(x)),
        exact="reassociates" if fold in ("sum", "prod") else "exact",
    )


_COUNTED = (suffix(d, s), _LEADING, counts(c, length(s)), real_cast(f), not_in(d, dom(g)))
_ONE = (axis(g, 1, 1), eq(1, rank(g)))
_NUMBER = eq(0, rank(x))
_REST, _POWERS = sl(d, s, x), power(g, map1(f, leaf(c)))
_COLUMN = reshape(1, cons(n, h), _POWERS)


def _discounted(name: str, product: Term, factor: Term, *when: Fact) -> Rule:
    """``sum_k g^k x[d + k]`` with the weights as they are spelled for a rank of ``x``."""
    return _law(
        name,
        "sum_k g^k x[d + k] over the rest of d = y where y[d] = x[d] + g y[d + 1]",
        total(m, product),
        lin(d, 1, factor, x),
        *_COUNTED,
        *_ONE,
        *when,
        reason="Discounted sums and advantages are one multiply-add per step.",
        exact="distributes",
    )


INCREMENTAL: tuple[Rule, ...] = (
    *map(_prefix, ("sum", "prod", "max", "min", "any", "all")),
    _law("suffix-sum", "sum(x[d : D]) = y where y[d] = x[d] + y[d + 1]",
         total(m, _REST), lin(d, 1, reshape(0, h, u), x),
         suffix(d, s), _LEADING, eq(r, rank(x)), unit(dtype(x), u), ones(r, h)),
    _discounted("discounted-sum", mul(_REST, _POWERS), part(1, 0, g), _NUMBER),
    _discounted("weighted-rest", mul(_POWERS, _REST), part(1, 0, g), _NUMBER),
    _law("discounted-live-sum", "sum_k where(c[d + k], g^k x[d + k], 0) over the rest of d = y "
         "where y[d] = where(c[d], x[d], 0) + g y[d + 1]",
         total(m, where(sl(d, s, q), mul(_REST, _POWERS), z)),
         lin(d, 1, part(1, 0, g), where(q, x, part(r, 0, z))),
         *_COUNTED, bounded(g), *_ONE, _NUMBER, eq(0, rank(q)), eq(0.0, value(z)),
         not_in(d, dom(z)), eq(r, rank(z)), eq(1, r), axis(z, r, 1),
         reason="Beyond the end of an episode nothing is added, whatever the power there."),
    _discounted("discounted-sums", mul(_REST, _COLUMN), reshape(1, h, g)),
    _discounted("weighted-rests", mul(_COLUMN, _REST), reshape(1, h, g)),
)  # fmt: skip
