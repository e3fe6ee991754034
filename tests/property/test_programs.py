"""Compiled programs equal the interpreter, on programs that hypothesis invents."""

from __future__ import annotations

import os

import numpy as np
import pytest
from hypothesis import HealthCheck, given, seed, settings
from hypothesis import strategies as st

import ostinato as ot
from tests.property.programs import Recipe, Replay, arguments, recipes

EXTENTS = ({"B": 2, "S": 3, "T": 5}, {"B": 1, "S": 1, "T": 1}, {"B": 33, "S": 2, "T": 4})
FAMILIES = ((), ("vectorize",), ("incremental",), ("algebra",))
PARTS = 8
BUDGET = int(os.environ.get("OSTINATO_PROPERTY_PROGRAMS", "220"))  # programs per run
FAST = settings(
    max_examples=BUDGET, deadline=None, derandomize=True, database=None,
    suppress_health_check=(
        HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much,
        HealthCheck.large_base_example,
    ),
)  # fmt: skip


def program_of(replay: Replay) -> ot.Program:
    return ot.Program(**{f"y{k}": y for k, y in enumerate(replay.outputs)})


def assert_compiled_equals_interpreted(recipe: Recipe, dtype: str = "float32") -> None:
    """Compare at three sizes: 1e-4 in float32 (sums of some dozens of values), 1e-7 in float64."""
    replay = Replay(recipe, dtype)
    program = program_of(replay)
    off = FAMILIES[hash(recipe.outputs + len(recipe.steps)) % len(FAMILIES)]
    run = program.compile(rules=ot.rules.without(*off), threads=2)
    for k, extents in enumerate(EXTENTS):
        given_ = arguments(replay, extents, k)
        known = {k: v for k, v in given_.items() if k in (*program.inputs, *program.extents)}
        expected = program.interpret(seed=k, **known)
        result = run(seed=k, **known)
        for name, value in expected.items():
            tolerance = 1e-4 if value.dtype == np.float32 else 1e-7
            np.testing.assert_allclose(result[name], value, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("part", range(PARTS))
def test_compiled_equals_interpreted(part: int) -> None:
    """Every part invents other programs, so that the processes of a test run share the work."""

    @settings(FAST, max_examples=-(-BUDGET // PARTS))
    @seed(part)
    @given(recipes(), st.sampled_from(("float64", "float32")))
    def check(recipe: Recipe, dtype: str) -> None:
        assert_compiled_equals_interpreted(recipe, dtype)

    check()


@settings(FAST, max_examples=max(BUDGET // 5, 1))
@given(recipes(most_steps=4))
def test_gradient_equals_central_differences(recipe: Recipe) -> None:
    replay = Replay(recipe, "float64")
    y = replay.outputs[-1]
    total = y[tuple(slice(None) for _ in y.node.domain)] if y.node.domain else y
    loss = (total * total).sum().named("loss")
    x = replay.inputs[0]
    gradient_of_x = ot.grad(loss, x) + x * 0.0  # over all dims of x, constant ones too
    program = ot.Program(loss=loss, gradient=gradient_of_x)
    extents = {"B": 2, "S": 2, "T": 3}
    given_ = arguments(replay, extents, 0)
    known = {k: v for k, v in given_.items() if k in (*program.inputs, *program.extents)}
    gradient = program.interpret(**known)["gradient"]
    direction = np.random.default_rng(1).normal(size=np.shape(known["x0"]))
    step = 1e-6

    def at(distance: float) -> float:
        moved = known["x0"] + distance * direction
        return float(program.interpret(**{**known, "x0": moved})["loss"])

    slope = (at(step) - at(-step)) / (2 * step)
    np.testing.assert_allclose((gradient * direction).sum(), slope, rtol=1e-5, atol=1e-6)
