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
d, h, m, r, s, u, x = variables("d h m r s u x")

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


INCREMENTAL: tuple[Rule, ...] = (
    *map(_prefix, ("sum", "prod", "max", "min", "any", "all")),
    _law("suffix-sum", "sum(x[d : D]) = y where y[d] = x[d] + y[d + 1]",
         total(m, sl(d, s, x)), lin(d, 1, reshape(0, h, u), x),
         suffix(d, s), _LEADING, eq(r, rank(x)), unit(dtype(x), u), ones(r, h)),
)  # fmt: skip
