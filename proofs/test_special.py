"""Special values: what every class of exactness promises is what its laws keep, and no more.

Every proof computes both sides for infinities, NaN, zeros of both signs, large numbers and the ends
of the integers (`ostinato.rewrite.prove.special_values`). Here: that classes are told apart by
that.
"""

from dataclasses import replace

import pytest

from ostinato.rewrite.engine.rule import Exactness
from ostinato.rewrite.prove.prover import try_specials
from ostinato.rewrite.registry import every_rule
from ostinato.rewrite.rules.online import ONLINE

# Laws that keep what their class promises, and not what the class before it does.
SHARP: dict[str, tuple[Exactness, Exactness]] = {
    "algebra/plus-zero": ("zero signs", "exact"),
    "algebra/neg-sub": ("zero signs", "exact"),
    "incremental/window-overlapping": ("zero signs", "exact"),
    "algebra/factor": ("distributes", "reassociates"),
    "algebra/sum-of-scaled": ("distributes", "reassociates"),
    "affine/product": ("distributes", "reassociates"),
    "incremental/decaying-sum": ("distributes", "reassociates"),
    "incremental/factor-leaves": ("distributes", "reassociates"),
    "matmul/right-first": ("distributes", "reassociates"),
    "incremental/masked-product": ("skips zeros", "distributes"),
    "incremental/decay-exp": ("skips zeros", "distributes"),
}


@pytest.mark.parametrize("name", SHARP)
def test_the_law_keeps_what_its_class_promises_and_not_more(name: str) -> None:
    rule, (own, stronger) = every_rule()[name], SHARP[name]
    assert rule.exact == own
    assert try_specials(rule) == ""
    assert "differs at" in try_specials(replace(rule, exact=stronger))


@pytest.mark.parametrize("name", [rule.name for rule in ONLINE if "isfinite" in str(rule.right)])
def test_a_law_that_asks_for_finite_values_keeps_infinities_and_nan(name: str) -> None:
    rule = every_rule()[name]
    assert rule.exact == "reassociates" and try_specials(rule) == ""


# Facts without which a law would make NaN of what is finite, or hold outside of its range.
NEEDED = {
    "algebra/sum-of-scaled": "(filled n)",
    "incremental/factor-leaves": "(filled n)",
    "incremental/decay-where": "(bounded g)",
    "affine/mask": "(bounded w)",
    "affine/choice-of-product": "(bounded w)",
    "matmul/left-first": "(filled k)",
    "matmul/right-first": "(filled q)",
}


@pytest.mark.parametrize("name", NEEDED)
def test_a_law_without_a_fact_that_it_needs_has_a_counterexample(name: str) -> None:
    rule = every_rule()[name]
    less = replace(rule, when=tuple(f for f in rule.when if str(f) != NEEDED[name]))
    assert len(less.when) == len(rule.when) - 1
    assert "differs at" in try_specials(less)
