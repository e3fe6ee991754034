"""The example: equal to the interpreter at awkward sizes, and it learns."""

from functools import cache

import numpy as np
import pytest

import ostinato as ot
from ostinato.compiler.compiled import Compiled
from tests.pipeline.programs import reinforce

SIZES = [{"B": 70, "T": 12, "I": 2}, {"B": 1, "T": 1, "I": 2}, {"B": 3, "T": 40, "I": 2}]


@cache
def program() -> ot.Program:
    return reinforce()


@cache
def compiled() -> Compiled:
    return program().compile()


@pytest.mark.parametrize("sizes", SIZES, ids=str)
def test_machine_code_equals_the_interpreter(sizes: dict[str, int]) -> None:
    expected = program().interpret(seed=5, **sizes)
    found = compiled()(seed=5, **sizes)
    for name, value in expected.items():
        np.testing.assert_allclose(found[name], value, rtol=1e-3, atol=5e-6, err_msg=name)


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_it_balances_the_pole_within_forty_iterations(seed: int) -> None:
    found = compiled()(B=64, T=500, I=40, seed=seed)
    assert np.isfinite(found["loss"]).all()
    assert found["episode_return"].max() >= 195.0
