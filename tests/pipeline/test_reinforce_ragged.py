"""REINFORCE with episodes that truly end: equal to the interpreter, and to masks by hand."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np
import pytest

import ostinato as ot
from ostinato import rl
from ostinato.cli.program_file import load_experiment, load_function
from ostinato.compiler.compiled import Compiled
from tests.pipeline.programs import reinforce

EXAMPLE = str(Path(__file__).parents[2] / "examples" / "reinforce_ragged.py")
SIZES = [{"B": 5, "T": 24, "I": 2}, {"B": 1, "T": 1, "I": 2}, {"B": 2, "T": 40, "I": 2}]


@cache
def program() -> ot.Program:
    made = load_function(f"{EXAMPLE}:reinforce")(rl.CartPole())
    assert isinstance(made, ot.Program)
    return made


@cache
def compiled() -> Compiled:
    return program().compile()


@pytest.mark.parametrize("sizes", SIZES, ids=str)
def test_machine_code_equals_the_interpreter(sizes: dict[str, int]) -> None:
    expected = program().interpret(seed=5, **sizes)
    found = compiled()(seed=5, **sizes)
    for name, value in expected.items():
        np.testing.assert_allclose(found[name], value, rtol=1e-3, atol=1e-6, err_msg=name)


def test_it_is_the_program_with_masks_by_hand() -> None:
    sizes = {"B": 4, "T": 30, "I": 2}
    by_hand = reinforce().interpret(seed=1, **sizes)
    found = program().interpret(seed=1, **sizes)
    for name, value in by_hand.items():
        np.testing.assert_allclose(found[name], value, rtol=1e-4, atol=1e-6, err_msg=name)


def test_returns_are_computed_in_one_backward_pass() -> None:
    assert compiled().explain().rules["incremental/decaying-sum"] > 0


def test_products_pass_over_episodes_that_have_ended() -> None:
    source = compiled().executable.artifact.source
    assert source.count("living='m'") == 4  # two layers, and what flows back through two
    assert source.count("living='k'") == 3  # the gradients of the weights
    assert "begun=" not in source  # a loop that ends at once leaves zeros
    assert "where alive" in str(compiled().explain().schedule)


def test_it_learns_in_thirty_iterations() -> None:
    found = compiled()(B=64, T=200, I=30, seed=0)
    assert np.isfinite(found["loss"]).all()
    assert found["episode_return"][0] < 40 and found["episode_return"].max() >= 150


def test_the_experiment_is_that_of_the_dense_example() -> None:
    experiment = load_experiment(EXAMPLE, ["episodes=8", "iterations=3", "steps=50"])
    assert experiment.steps_per_record == 400
    assert experiment.program.extents == ("B", "I", "T")
