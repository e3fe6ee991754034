"""Rewriting keeps the meaning of programs that hypothesis invents, whichever families run."""

from __future__ import annotations

import os

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings

import ostinato as ot
from ostinato.pdg.check import check
from ostinato.pdg.interpret import interpret
from ostinato.pdg.verify import verify
from ostinato.rewrite.optimize import RewriteOptions, optimize
from ostinato.rewrite.registry import RuleSet, every_rule
from tests.property.constructs.gradients import loss_of
from tests.property.programs import Recipe, Replay, arguments, recipes

SETS = {"all": every_rule()} | {f: every_rule().without(f) for f in every_rule().families}
EXTENTS = {"B": 2, "S": 3, "T": 4, "U": 2}
BUDGET = int(os.environ.get("OSTINATO_REWRITE_PROGRAMS", "40"))  # programs per set of rules
MODERATE = settings(
    max_examples=BUDGET, deadline=None, database=None,
    suppress_health_check=(HealthCheck.too_slow, HealthCheck.data_too_large),
)  # fmt: skip


def assert_kept(program: ot.Program, replay: Replay, rules: RuleSet) -> None:
    """The rewritten program is well formed, defined where it is demanded, and equal."""
    result = optimize(program.pdg, RewriteOptions(rules=rules))
    verify(result.pdg)
    check(result.pdg)
    names = {*program.inputs, *program.extents}
    given_ = {k: v for k, v in arguments(replay, EXTENTS, 0).items() if k in names}
    bound = program.signature.bind(given_)
    expected = interpret(program.pdg, bound.extents, bound.inputs, exact=True)
    found = interpret(result.pdg, bound.extents, bound.inputs, exact=True)
    for name, value in expected.items():
        np.testing.assert_allclose(found[name], value, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("rules", SETS.values(), ids=SETS.keys())
def test_rewriting_keeps_the_meaning_of_invented_programs(rules: RuleSet) -> None:
    @MODERATE
    @given(recipes())
    def compare(recipe: Recipe) -> None:
        replay = Replay(recipe, "float64")
        outputs = {f"y{k}": y for k, y in enumerate(replay.outputs)}
        assert_kept(ot.Program(**outputs), replay, rules)

    compare()


@pytest.mark.parametrize("rules", SETS.values(), ids=SETS.keys())
def test_rewriting_keeps_the_meaning_of_gradients(rules: RuleSet) -> None:
    @MODERATE
    @given(recipes(most_steps=5))
    def compare(recipe: Recipe) -> None:
        replay = Replay(recipe, "float64")
        y = replay.outputs[-1]
        gradient = ot.grad(loss_of(replay.workshop.as_real(y), 1.0), replay.inputs[0])
        assert_kept(ot.Program(gradient=gradient + replay.inputs[0] * 0.0), replay, rules)

    compare()
