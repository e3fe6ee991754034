"""Optimised programs give the results of the programs they came from."""

from __future__ import annotations

import numpy as np
import pytest

import ostinato as ot
from ostinato.pdg.interpret import interpret
from ostinato.pdg.node import Linear, Matmul, Pdg, Scan
from ostinato.pdg.text.printer import show
from ostinato.rewrite.optimize import RewriteOptions, optimize
from ostinato.rewrite.registry import RuleSet, every_rule
from tests.rewrite import programs

EXTENTS = {"B": 3, "I": 3, "T": 4}
SETS = {
    "no rules": RuleSet(()),
    "all rules": every_rule(),
    "without vectorize": every_rule().without("vectorize"),
    "without incremental": every_rule().without("incremental"),
    "only incremental": every_rule().only("incremental"),
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


def operators(name: str, rules: RuleSet, *kinds: type) -> int:
    result = optimize(programs.ALL[name](), RewriteOptions(rules=rules, hints={"B": 64, "T": 512}))
    return sum(isinstance(node.op, kinds) for node in result.pdg.nodes())


def test_folds_over_prefixes_become_scans() -> None:
    assert operators("running", every_rule(), Scan) == 6
    assert operators("running", every_rule().without("incremental"), Scan) == 0


def test_discounted_and_plain_sums_over_the_rest_become_recurrences() -> None:
    assert operators("returns", every_rule(), Linear, Scan) == 3
    assert operators("returns", every_rule().without("incremental"), Linear, Scan) == 0


def test_a_recurrence_without_an_order_stays_as_written_and_the_rest_is_rewritten() -> None:
    b, t = ot.dims("b t")
    x, y, h = ot.input("x", over=(b, t)), ot.input("y", over=t), ot.recurrent("h", over=t)
    h[t % 3 == 0] = y
    h[True] = 0.5 * h[t - t % 3] + y
    z = ot.recurrent("z", over=(b, t))
    z[b, 0] = 0.0
    z[b, t + 1] = ot.tanh(z) + x * h
    program = ot.Program(z=z, later=ot.discounted_sum(x[b, t:], 0.9) + h)
    result = optimize(program.pdg, RewriteOptions(hints={"B": 64, "T": 64}))
    assert result.report.left == "`h` reads ahead of a loop over `t`"
    assert result.batched.keys() == {"z"}
    assert any(isinstance(node.op, Linear) for node in result.pdg.nodes())
    given = {"x": np.ones((2, 7), "float32"), "y": np.arange(7, dtype="float32")}
    expected = interpret(program.pdg, {"B": 2, "T": 7}, given)
    for output, value in interpret(result.pdg, {"B": 2, "T": 7}, given).items():
        np.testing.assert_allclose(value, expected[output], rtol=1e-5)


def test_a_recurrence_that_is_parallel_over_a_dim_is_batched() -> None:
    result = optimize(programs.training(), RewriteOptions(hints={"B": 64}))
    assert result.batched == {"s": (programs.B,)}
    assert result.pdg.equations["s"].rec.domain == (programs.ITERATION, programs.T)
    assert result.pdg.equations["w"].rec.domain == (programs.ITERATION,)


def test_a_weight_gradient_is_one_product_over_all_rows() -> None:
    result = optimize(programs.training(), RewriteOptions(hints={"B": 64}))
    products = [n for n in result.pdg.nodes() if isinstance(n.op, Matmul)]
    inner = [str(n.args[0].shape[-1]) for n in products]
    assert sorted(inner) == ["4", "B * T"]


def test_the_same_program_gives_the_same_result() -> None:
    texts = {show(optimize(programs.rollout()).pdg) for _ in range(3)}
    assert len(texts) == 1
