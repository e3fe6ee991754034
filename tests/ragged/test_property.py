"""Invented pipelines of masked operators equal loops over true lists, gradients included."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import ostinato as ot
from tests.ragged.episodes import Array, draws, episodes, spoiled
from tests.ragged.pipelines import FOLDS, STEPS, Pipeline, patterns, pipelines

WEIGHT, STEP = 0.75, 1e-6


def program_of(pipeline: Pipeline, gradient: bool) -> ot.Program:
    b, t = ot.dims("b t")
    ends, weight = ot.input("ends", dtype="bool", over=(b, t)), ot.input("weight", dtype="float64")
    value = ot.input("value", dtype="float64", over=(b, t))
    ot.stop(t, when=ends)
    found = pipeline.ragged(value[b, :], weight)
    outputs = {"found": found}
    if gradient:
        outputs["slope"] = ot.grad(found[:].sum(), weight)
    return ot.Program(**outputs)


def check(pipeline: Pipeline, done: Array, garbage: float, compiled: bool = False) -> None:
    x = draws(done, seed=int(done.sum())).astype("float64")
    rows, size = episodes(x, done), done.shape[1]
    arguments = {"ends": done, "value": spoiled(x, done, garbage), "weight": WEIGHT}
    program = program_of(pipeline, gradient=True)
    found = program.compile()(**arguments) if compiled else program.interpret(**arguments)

    def total(w: float) -> float:
        return sum(pipeline.by_hand(row, w, size) for row in rows)

    expected = [pipeline.by_hand(row, WEIGHT, size) for row in rows]
    np.testing.assert_allclose(found["found"], expected, 1e-6, 1e-9)
    slope = (total(WEIGHT + STEP) - total(WEIGHT - STEP)) / (2 * STEP)
    assert np.isfinite(found["slope"])
    if not_near_a_tie(pipeline, rows, size):
        np.testing.assert_allclose(found["slope"], slope, 1e-4, 1e-5)


def not_near_a_tie(pipeline: Pipeline, rows: list[Array], size: int) -> bool:
    """Whether the two one-sided differences agree: at a tie there is no single derivative."""

    def total(w: float) -> float:
        return sum(pipeline.by_hand(row, w, size) for row in rows)

    left = (total(WEIGHT) - total(WEIGHT - STEP)) / STEP
    right = (total(WEIGHT + STEP) - total(WEIGHT)) / STEP
    return bool(np.isclose(left, right, 1e-3, 1e-4))


@given(pipelines(), patterns(), st.sampled_from((np.nan, np.inf, -np.inf, 0.0)))
@settings(max_examples=20)
def test_pipelines_equal_loops_over_lists(pipeline: Pipeline, done: Array, garbage: float) -> None:
    check(pipeline, done, garbage)


def test_machine_code_of_a_long_pipeline_equals_loops_over_lists() -> None:
    by_name = {step.name: step for step in STEPS}
    names = ("flip", "log", "join dense", "softmax", "cumsum")
    done = np.array([[0, 0, 1, 0], [1, 0, 0, 0], [0, 0, 0, 0]], bool)
    check(Pipeline(tuple(by_name[name] for name in names), "var"), done, np.nan, compiled=True)


ONE_BY_ONE = (
    *(Pipeline((step,), "mean") for step in STEPS),
    *(Pipeline((STEPS[3],), fold) for fold in FOLDS),
)


@pytest.mark.parametrize("pipeline", ONE_BY_ONE, ids=repr)
def test_every_operator_and_every_fold_alone(pipeline: Pipeline) -> None:
    done = np.array([[0, 0, 1, 0], [1, 0, 0, 0], [0, 0, 0, 0]], bool)
    check(pipeline, done, np.nan)
