"""Invented programs pass the judge: one half of a fixed budget on a day, the other on the next.

A run prints which half it is; ``OSTINATO_PROPERTY_HALF=0`` or ``1`` repeats it, ``both`` runs all.
"""

from __future__ import annotations

import os
import warnings
from datetime import UTC, datetime

import pytest

from ostinato.pdg.errors import DomainError
from tests.property.constructs import TAME
from tests.property.judge import CHECKS, judge, trial_of
from tests.property.programs import covering, is_beyond_limits

PARTS = 8  # the processes of a test run share the work
BUDGET = int(os.environ.get("OSTINATO_PROPERTY_PROGRAMS", "64"))  # programs in two days
HALF = os.environ.get("OSTINATO_PROPERTY_HALF", str(datetime.now(UTC).toordinal() % 2))


@pytest.mark.parametrize("part", range(PARTS))
def test_invented_programs_pass_every_check(part: int) -> None:
    warnings.simplefilter("ignore")
    recipes = covering(BUDGET)
    for seed in range(part, len(recipes), PARTS):
        if HALF != "both" and seed // PARTS % 2 != int(HALF):
            continue
        print(f"program {seed}: OSTINATO_PROPERTY_HALF={HALF}")  # shown where it fails
        try:
            judge(trial_of(seed, recipes[seed]))
        except DomainError as refused:
            if not is_beyond_limits(recipes[seed], refused):
                raise


def test_the_programs_of_two_days_use_every_construct_and_every_check() -> None:
    recipes = covering(64)
    assert TAME.keys() == {step.op for recipe in recipes for step in recipe.steps}
    trials = [trial_of(seed, recipe) for seed, recipe in enumerate(recipes)]
    assert CHECKS.keys() == {name for trial in trials for name in trial.checks}
