"""The fuzzer finds, shrinks and records what goes wrong."""

from __future__ import annotations

import pytest

from tests.property import worker
from tests.property.fuzz import Tally
from tests.property.judge import Bench, Disagreement, Trial, trial_of
from tests.property.programs import Recipe, Replay, Step, invent
from tests.property.shrink import shrink, symptom, without_step

PLANE = (((0, 1), (3,)),)
STEPS = (Step("tanh"), Step("forward", a=1), Step("flip", a=1), Step("mul", a=2, b=3))


def dislikes_flip(trial: Trial) -> Bench:
    if any(step.op == "flip" for step in trial.recipe.steps):
        raise Disagreement("compiled differs: y0[1] is 3.0, not 4.0")
    return Bench(trial)


def long_trial(seed: int) -> Trial:
    return Trial(Recipe(PLANE, STEPS, 1, 2), seed=seed)


def test_a_failing_trial_shrinks_to_what_makes_it_fail(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worker, "judge", dislikes_flip)
    trial = Trial(Recipe(PLANE, STEPS, 2, 2), checks=("threads", "tiles"))
    small = shrink(trial, worker.failure)
    assert [step.op for step in small.recipe.steps] == ["flip"]
    assert (small.recipe.outputs, small.checks, len(small.extents)) == (1, (), 1)


def test_a_recorded_failure_is_a_test_that_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worker, "judge", dislikes_flip)
    monkeypatch.setattr(worker, "trial_of", long_trial)
    found = worker.outcome(7)
    assert found.symptom == "Disagreement: compiled differs in flip"
    scope: dict[str, object] = {}
    exec(compile(found.as_test(), "found", "exec"), scope)  # it is Python, and names its recipe
    assert callable(scope["test_found_7"]) and "op='flip'" in found.as_test()


def test_dropping_a_step_keeps_what_later_steps_read() -> None:
    recipe = without_step(Recipe(PLANE, STEPS, 1, 2), 1)
    assert recipe.steps == (Step("tanh"), Step("flip", a=1), Step("mul", a=1, b=2))
    assert Replay(recipe).skipped == []


def test_equal_symptoms_are_counted_once_and_differences_by_their_check() -> None:
    one, two = (ValueError(f"a.py:{n}: `x{n}` has shape ({n},)") for n in (1, 2))
    assert symptom(one) == symptom(two) == "ValueError: _ has shape _"
    tally = Tally()
    outcomes = [worker.Outcome(n, ("flip",), ("arrays",), (), symptom="s") for n in (1, 2)]
    assert [tally.add(each) for each in outcomes] == [True, False]
    assert (tally.trials, tally.symptoms["s"], tally.kinds["arrays"]) == (2, 2, 2)


def test_a_seed_always_invents_the_same_trial() -> None:
    assert trial_of(11) == trial_of(11)
    assert trial_of(11) != trial_of(12)


@pytest.mark.parametrize("seed", range(20))
def test_every_step_of_an_invented_recipe_fits(seed: int) -> None:
    recipe = invent(seed)
    assert recipe.steps and not Replay(recipe, recipe.dtypes[0]).skipped
