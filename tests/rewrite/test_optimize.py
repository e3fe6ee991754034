"""Optimised programs give the results of the programs they came from."""

from __future__ import annotations

import numpy as np
import pytest

from ostinato.pdg.interpret import interpret
from ostinato.pdg.node import Pdg
from ostinato.rewrite.optimize import RewriteOptions, optimize
from ostinato.rewrite.registry import RuleSet, every_rule

from tests.rewrite import programs

EXTENTS = {"B": 3, "I": 3, "T": 4}
SETS = {
    "no rules": RuleSet(()),
    "all rules": every_rule(),
    "without vectorize": every_rule().without("vectorize"),
}


def inputs(pdg: Pdg) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(0)
    return programs.arguments(pdg, EXTENTS, rng)


@pytest.mark.parametrize("rules", SETS.values(), ids=SETS.keys())
@pytest.mark.parametrize("name", programs.ALL)
def test_optimizing_keeps_the_results(name: str, rules: RuleSet) -> None:
    pdg = programs.ALL[name]()
    result = optimize(pdg, RewriteOptions(rules=rules, hints={"B": 64, "T": 64, "I": 100}))
    values = inputs(pdg)
    expected = interpret(pdg, EXTENTS, values, exact=True)
    found = interpret(result.pdg, EXTENTS, values, exact=True)
    for output, value in expected.items():
        np.testing.assert_allclose(found[output], value, rtol=1e-9, atol=1e-12, err_msg=output)
