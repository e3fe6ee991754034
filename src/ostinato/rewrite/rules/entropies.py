"""Incremental: sums of weights of a softmax times their logarithms, one step per point.

With a the distances from the greatest so far, none above 0, and S the sum of ``exp(a)``, the
entropy of a softmax is ``log S - (sum exp(a) a) / S``: both terms are at least 0, so nothing
cancels. Once the logarithm of a weight is a distance less a number, however it is spelled, the sum
of ``exp(a) a`` is a linear recurrence: where the greatest rises by r, every distance falls by r.
"""

from __future__ import annotations

from collections.abc import Iterator

from ostinato.rewrite.engine.rule import Rule
from ostinato.rewrite.rules.family import Family
from ostinato.rewrite.rules.online import (
    BESIDE,
    FINITE,
    GAIN,
    GREATEST,
    POWER,
    SCORES,
    SHIFT,
    SHIFTED,
    SIDE,
)
from ostinato.rewrite.rules.phrases import *
from ostinato.rewrite.terms import *

ONE_STEP = "One multiply-add per point instead of one pass over the whole range."
OUTSIDE = "What is the same along a range leaves the sum."
ONE_FORM = "Logarithms of a softmax are differences, however they are written."

b, c, d, f, h, i, k, m, n, o = variables("b c d f h i k m n o")
r, s, w, x, y, z = variables("r s w x y z")

_law = Family("incremental/", "proofs/test_entropies.py", ONE_FORM, "distributes")
_DISTANCE = sub(x, reshape(r, sizes(1, then=h), most(m, x)))


def _log(x: Expression) -> Term:
    return map1("log", x)


def _spellings() -> Iterator[Rule]:
    """The logarithm of a weight, and the weight of a logarithm."""
    law, of_log = "log(exp(x) / y) = x - log(y) for y > 0", _log(div(exp(x), y))
    yield _law("log-of-quotient", law, of_log, sub(x, _log(y)), positive(y), exact="reassociates")
    law = "exp(x[s] - m - log(y)) = exp(x[s] - m) / y for y > 0, m the greatest"
    powers = exp(sub(_DISTANCE, _log(y))), div(exp(_DISTANCE), y)
    yield _law("power-of-log", law, *powers, positive(y), eased(x), eq(m, 1 << r))


def _sums() -> Iterator[Rule]:
    """Sums of weights times distances, less a number."""
    law = "sum_s w[s] (x[s] - m - y) = sum_s w[s] (x[s] - m) - y sum_s w[s], m the greatest x"
    along = (axis(x, c, n), axis(w, c, n), axis(y, c, 1), eq(r, c - 1), eq(m, 1 << r))
    right = sub(total(m, mul(w, _DISTANCE)), mul(total(m, w), part(c, 0, y)))
    terms = either("mul", z, w, sub(_DISTANCE, y))
    yield _law("number-leaves", law, total(m, z), right, terms, eased(x), *along, filled(n),
               valid="inside the box", reason=OUTSIDE)  # fmt: skip


def _step() -> Rule:
    """The sum of powers times their exponents, over all so far or to come."""
    earlier = at(d, b, GREATEST)
    fallen = mul(sub(earlier, GREATEST), at(d, b, total(m, SHIFTED)))
    carried = case(k, mul(exp(sub(earlier, FINITE)), fallen), bcast(h, reshape(0, o, z)))
    return _law(
        "sum-of-entropies",
        "sum_s exp(a[s]) a[s], a = x - m, over all so far, or to come, = y where y[d] = exp(a[d]) "
        "a[d] + exp(m' - m) (y' + (m' - m) sum' exp(a)), of the step beside d",
        total(m, mul(SHIFTED, sub(sl(d, s, x), BESIDE))),
        lin(d, f, GAIN, add(mul(POWER, sub(x, GREATEST)), carried)),
        *(SIDE, *SCORES, *SHIFT[1:], eq(m, i)),  # infinite distances spoil the sum themselves
        valid="inside the box",
        exact="reassociates",
        reason=ONE_STEP,
    )


ENTROPIES: tuple[Rule, ...] = (*_spellings(), *_sums(), _step())
