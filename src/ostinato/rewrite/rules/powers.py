"""Incremental: powers of counts in one form, and sums of sums that are weighted with them.

``sum_n h^n sum_{k <= n} g^k x[d + k]`` is the lambda-weighted sum of all n-step advantages. The
step at d is part of every sum: it has the weight ``sum_n h^n``, and the rest is ``g h`` times the
same sum one step later.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator

from ostinato.rewrite.engine.rule import Exactness, Rule
from ostinato.rewrite.rules.phrases import *
from ostinato.rewrite.terms import *

ONE_FORM = "Products of powers of one count are one power, as discounted sums know it."
ONE_STEP = "Weighted sums of n-step sums are one multiply-add per step, not a triangle of products."

d, f, g, h, k, n, s, u, x = variables("d f g h k n s u x")

_COUNT = map1(f, leaf(k))
_ONE_H = (eq(1, rank(h)), axis(h, 1, 1))
_NUMBERS = (eq(1, rank(g)), axis(g, 1, 1), *_ONE_H)


def _power(base: Expression) -> Term:
    return power(base, _COUNT)


def _rule(
    name: str, law: str, left: Term, right: Term, *when: Fact, exact: Exactness = "reassociates"
) -> Rule:
    is_sum = right.head == "lin"
    return Rule(
        name=f"incremental/{name}",
        law=law,
        reason=ONE_STEP if is_sum else ONE_FORM,
        left=left,
        right=right,
        when=(counts(k, length(s)), real_cast(f), *when),
        exact="distributes" if is_sum else exact,
        valid="inside the box" if is_sum else "everywhere",
        proof="proofs/test_powers.py",
    )


def _forms() -> Iterator[Rule]:
    both = _power(mul(g, h))
    law = "g^k h^k = (g h)^k for a count k"
    yield _rule("powers-of-one-count", law, mul(_power(g), _power(h)), both)
    law = "g^k x h^k = (g h)^k x for a count k"
    yield _rule("powers-around", law, mul(mul(_power(g), x), _power(h)), mul(both, x))
    law = "exp(k g) = exp(g)^k for a count k"
    for order, product in in_both_orders(_COUNT, g):
        name = f"exponential-of-count{order}"
        yield _rule(name, law, exp(product), _power(exp(g)), exact="skips zeros")


def _sums() -> Iterator[Rule]:
    weights = total(1, _power(h))
    law = "sum_k h^k over the rest of d = y where y[d] = 1 + h y[d + 1]"
    known = (suffix(d, s), *_ONE_H, not_in(d, dom(h)), unit(dtype(h), u))
    yield _rule("powers-of-rest", law, weights, lin(d, 1, part(1, 0, h), u), *known)
    law = "sum_n h^n sum_{k <= n} g^k x[d + k] = y where y[d] = x[d] sum_n h^n + g h y[d + 1]"
    facts = (suffix(d, s), eq(0, rank(x)), *_NUMBERS, not_in(d, dom(g)), not_in(d, dom(h)))
    right = lin(d, 1, mul(part(1, 0, g), part(1, 0, h)), mul(x, weights))
    for inner_last, outer_last in itertools.product((False, True), repeat=2):
        (_, inner) = list(in_both_orders(_power(g), sl(d, s, x)))[inner_last]
        (_, outer) = list(in_both_orders(_power(h), along1("sum", 1, n, inner)))[outer_last]
        name = f"weighted-sums{'-last' * outer_last}{'-of-values' * inner_last}"
        yield _rule(name, law, total(1, outer), right, *facts)


POWERS: tuple[Rule, ...] = (*_forms(), *_sums())
