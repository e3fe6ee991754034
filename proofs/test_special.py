"""Infinities and NaN in laws of sums and ranges: which hold of them, tried for a few steps.

Proofs over the reals say nothing of them. Every choice of infinities, NaN, 0 and other numbers for
the elements of a few steps is computed on both sides, as NumPy does.
"""

import pytest

from ostinato.rewrite.prove.prover import prove, try_specials
from ostinato.rewrite.prove.special import asks_for_specials
from ostinato.rewrite.prove.text import parse
from ostinato.rewrite.registry import every_rule
from ostinato.rewrite.rules.online import ONLINE
from ostinato.rewrite.rules.ranges import RANGES

RULES = tuple(rule.name for rule in (*ONLINE, *RANGES))
# Equal as real numbers only: an infinite factor, or a quotient by 0, leaves a sum of other signs.
REAL_ONLY = (
    "incremental/sum-of-quotients",
    "incremental/quotient-leaves-first",
    "incremental/quotient-leaves-last",
    "incremental/factor-leaves-first",
    "incremental/factor-leaves-second",
    "incremental/factor-leaves-third",
    "incremental/factor-leaves-fourth",
)


@pytest.mark.parametrize("name", [name for name in RULES if name not in REAL_ONLY])
def test_the_law_holds_with_infinities_and_nan(name: str) -> None:
    assert try_specials(every_rule()[name]) == ""


@pytest.mark.parametrize("name", REAL_ONLY)
def test_the_law_is_one_of_real_numbers_and_says_that_it_rounds(name: str) -> None:
    rule = every_rule()[name]
    assert "nan and" in try_specials(rule) and rule.exact == "reassociates"


@pytest.mark.parametrize("rule", [rule.name for rule in ONLINE if "isfinite" in rule.right])
def test_a_law_that_asks_for_finite_values_is_proved_with_others_too(rule: str) -> None:
    found = every_rule()[rule]
    assert asks_for_specials(parse(found.left), parse(found.right))
    assert "infinities and NaN at a few steps" in prove(found).methods
