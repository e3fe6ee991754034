"""Incremental: powers of counts in one form, and sums of sums that are weighted with them.

``sum_n h^n sum_{k <= n} g^k x[d + k]`` is the lambda-weighted sum of all n-step advantages. The
step at d is part of every sum: it has the weight ``sum_n h^n``, and the rest is ``g h`` times the
same sum one step later.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator

from ostinato.rewrite.engine.rule import Exactness, Rule

PROOF = "proofs/test_powers.py"
ONE_FORM = "Products of powers of one count are one power, as discounted sums know it."
ONE_STEP = "Weighted sums of n-step sums are one multiply-add per step, not a triangle of products."

_COUNT = "(map1 f (leaf k))"
_COUNTED = ("(counts k (length s))", "(real_cast f)")
_NUMBERS = ("(= 1 (rank g))", "(axis g 1 (size 1))", "(= 1 (rank h))", "(axis h 1 (size 1))")
_STEADY = ("(= 0 (& d (dom g)))", "(= 0 (& d (dom h)))")


def _m2(fn: str, a: str, b: str) -> str:
    return f'(map2 "{fn}" {a} {b})'


def _power(base: str) -> str:
    return _m2("pow", base, _COUNT)


def _rule(name: str, law: str, left: str, right: str, reason: str, *when: str) -> Rule:
    is_sum = "(lin " in right
    one: Exactness = "skips zeros" if name.startswith("exponential") else "reassociates"
    return Rule(
        name=f"incremental/{name}",
        law=law,
        reason=reason,
        left=left,
        right=right,
        when=(*_COUNTED, *when),
        exact="distributes" if is_sum else one,
        valid="inside the box" if is_sum else "everywhere",
        proof=PROOF,
    )


def _forms() -> Iterator[Rule]:
    both = _power(_m2("mul", "g", "h"))
    law = "g^k h^k = (g h)^k for a count k"
    yield _rule("powers-of-one-count", law, _m2("mul", _power("g"), _power("h")), both, ONE_FORM)
    law = "g^k x h^k = (g h)^k x for a count k"
    around = _m2("mul", _m2("mul", _power("g"), "x"), _power("h"))
    yield _rule("powers-around", law, around, _m2("mul", both, "x"), ONE_FORM)
    law, power = "exp(k g) = exp(g)^k for a count k", _power('(map1 "exp" g)')
    for name, product in (("", _m2("mul", _COUNT, "g")), ("-last", _m2("mul", "g", _COUNT))):
        yield _rule(f"exponential-of-count{name}", law, f'(map1 "exp" {product})', power, ONE_FORM)


def _sums() -> Iterator[Rule]:
    total = f'(red "sum" 1 {_power("h")})'
    law = "sum_k h^k over the rest of d = y where y[d] = 1 + h y[d + 1]"
    suffix = ("(suffix d s)", "(= 1 (rank h))", "(axis h 1 (size 1))", "(= 0 (& d (dom h)))")
    unit = "(unit (dtype h) u)"
    yield _rule("powers-of-rest", law, total, "(lin d 1 (part 1 0 h) u)", ONE_STEP, *suffix, unit)
    law = "sum_n h^n sum_{k <= n} g^k x[d + k] = y where y[d] = x[d] sum_n h^n + g h y[d + 1]"
    facts = ("(suffix d s)", "(= 0 (rank x))", *_NUMBERS, *_STEADY)
    factor = _m2("mul", "(part 1 0 g)", "(part 1 0 h)")
    right = f"(lin d 1 {factor} {_m2('mul', 'x', total)})"
    for inner_last, outer_last in itertools.product((False, True), repeat=2):
        inner = (_power("g"), "(sl d s x)")
        sums = f'(along1 "sum" 1 n {_m2("mul", *(inner[::-1] if inner_last else inner))})'
        outer = (_power("h"), sums)
        left = f'(red "sum" 1 {_m2("mul", *(outer[::-1] if outer_last else outer))})'
        name = f"weighted-sums{'-last' * outer_last}{'-of-values' * inner_last}"
        yield _rule(name, law, left, right, ONE_STEP, *facts)


POWERS: tuple[Rule, ...] = (*_forms(), *_sums())
