"""Rewriting keeps the meaning of programs that hypothesis invents, whichever families run."""

from __future__ import annotations

import os
from dataclasses import replace

import pytest
from hypothesis import HealthCheck, given, settings

from ostinato.pdg.demand.check import check
from ostinato.pdg.invariants import verify
from ostinato.rewrite.engine.saturate import Budget
from ostinato.rewrite.optimize import RewriteOptions, optimize
from ostinato.rewrite.registry import RuleSet, every_rule
from tests.property.judge import Bench, Trial
from tests.property.programs import Recipe, recipes
from tests.property.today import of_today

FAMILIES = of_today(every_rule().families)
SETS = {"all": every_rule()} | {f: every_rule().without(f) for f in FAMILIES}
BUDGET = int(os.environ.get("OSTINATO_REWRITE_PROGRAMS", "6"))  # programs per set of rules
BRIEF = Budget(rounds=40, rows=60_000, steps=50_000)  # what is chosen early means the same
MODERATE = settings(
    max_examples=BUDGET, deadline=None, database=None,
    suppress_health_check=(HealthCheck.too_slow, HealthCheck.data_too_large),
)  # fmt: skip


def assert_kept(recipe: Recipe, rules: RuleSet) -> None:
    """The rewritten program is well formed, defined where it is demanded, and equal."""
    bench = Bench(Trial(replace(recipe, dtypes=("float64",) * len(recipe.inputs))))
    result = optimize(bench.program.pdg, RewriteOptions(rules=rules, budget=BRIEF))
    verify(result.pdg)
    check(result.pdg, bench.program.pdg.minimum_extents)
    given_ = bench.given(0)
    bench.agree("rewritten", bench.meaning(result.pdg, given_), given_)


@pytest.mark.parametrize("rules", SETS.values(), ids=SETS.keys())
def test_rewriting_keeps_the_meaning_of_invented_programs(rules: RuleSet) -> None:
    @MODERATE
    @given(recipes())
    def compare(recipe: Recipe) -> None:
        assert_kept(recipe, rules)

    compare()


@pytest.mark.parametrize("rules", SETS.values(), ids=SETS.keys())
def test_rewriting_keeps_the_meaning_of_gradients(rules: RuleSet) -> None:
    @MODERATE
    @given(recipes(most_steps=5))
    def compare(recipe: Recipe) -> None:
        assert_kept(replace(recipe, mode="gradient"), rules)

    compare()
