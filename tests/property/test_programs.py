"""Invented programs pass the judge: one half of a fixed budget on a day, the other on the next."""

from __future__ import annotations

import os
import warnings

import pytest

from ostinato.pdg.errors import DomainError, ShapeError
from tests.property.constructs import TAME
from tests.property.judge import CHECKS, judge, trial_of
from tests.property.programs import covering, is_beyond_limits
from tests.property.today import of_today

PARTS = 8  # the processes of a test run share the work
BUDGET = int(os.environ.get("OSTINATO_PROPERTY_PROGRAMS", "64"))  # programs in two days


@pytest.mark.parametrize("part", range(PARTS))
def test_invented_programs_pass_every_check(part: int) -> None:
    warnings.simplefilter("ignore")
    recipes = covering(BUDGET)
    for seed in of_today(range(part, len(recipes), PARTS)):
        try:
            judge(trial_of(seed, recipes[seed]))
        except (DomainError, ShapeError) as refused:
            if not is_beyond_limits(recipes[seed], refused):
                raise


def test_the_programs_of_two_days_use_every_construct_and_every_check() -> None:
    recipes = covering(64)
    assert TAME.keys() == {step.op for recipe in recipes for step in recipe.steps}
    trials = [trial_of(seed, recipe) for seed, recipe in enumerate(recipes)]
    assert CHECKS.keys() == {name for trial in trials for name in trial.checks}
