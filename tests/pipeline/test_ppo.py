"""Proximal policy optimisation, the example: equal to the interpreter, and it learns."""

from functools import cache

import numpy as np
import pytest

import ostinato as ot
from ostinato import rl
from ostinato.cli.program_file import load_function
from ostinato.compiler.compiled import Compiled
from tests.pipeline.programs import ROOT

EXAMPLE = ROOT / "examples" / "ppo_cartpole.py"
SIZES = [{"B": 2, "I": 2, "E": 2, "T": 8}, {"B": 1, "I": 3, "E": 1, "T": 4}]


@cache
def program() -> ot.Program:
    made = load_function(f"{EXAMPLE}:ppo")(rl.CartPole(), hidden=(8, 8))
    assert isinstance(made, ot.Program)
    return made


@cache
def compiled() -> Compiled:
    return program().compile(threads=2)


@pytest.mark.parametrize("sizes", SIZES, ids=str)
def test_machine_code_equals_the_interpreter(sizes: dict[str, int]) -> None:
    expected, found = program().interpret(seed=5, **sizes), compiled()(seed=5, **sizes)
    for name, value in expected.items():
        np.testing.assert_allclose(found[name], value, rtol=2e-3, atol=1e-4, err_msg=name)


def test_parameters_are_not_kept_per_update() -> None:
    def peak(i: int, e: int) -> int:
        found = compiled().explain(B=8, T=64, I=i, E=e)
        return found.memory.predicted_peak_bytes - 4 * 4 * i * e  # the losses

    returns = (4 + 4) * 200  # and how many games ended
    assert peak(200, 4) - peak(2, 4) < returns + 512
    shuffles = 4 * 8 * 64  # one order of the rows per epoch, at most
    assert peak(2, 40) - peak(2, 4) < 36 * shuffles


def test_games_last_longer_after_some_iterations() -> None:
    found = compiled()(B=8, T=64, I=30, E=4, seed=0)["episode_return"]
    assert found[-5:].mean() > 2 * found[:3].mean()


def test_games_may_be_over_where_they_are_cut() -> None:
    other = load_function(f"{EXAMPLE}:ppo")(rl.CartPole(), hidden=(8, 8), cut_is_over=True)
    assert isinstance(other, ot.Program)
    found = other.compile(threads=2)(seed=5, **SIZES[0])  # too few steps for any to be cut
    for name, value in program().interpret(seed=5, **SIZES[0]).items():
        np.testing.assert_allclose(found[name], value, rtol=2e-3, atol=1e-4, err_msg=name)
