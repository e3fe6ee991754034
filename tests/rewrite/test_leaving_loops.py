"""Work leaves the loop over steps: projections of inputs, and cases that are cut into ranges."""

from __future__ import annotations

import numpy as np

import ostinato as ot
from ostinato.machine.profile import Profile
from ostinato.pdg.node import Case, Matmul, Node
from ostinato.rewrite.load.defined_along import partial_dims
from ostinato.rewrite.optimize import RewriteOptions, optimize
from ostinato.rewrite.registry import RuleSet, every_rule

LONELY = Profile(point_ns=1.0)  # reads of single points are dear: near ties go to whole ranges


def nodes(program: ot.Program, rules: RuleSet | None = None) -> list[Node]:
    hints = {"B": 64, "T": 500}
    chosen = RewriteOptions(rules=rules or every_rule(), hints=hints, profile=LONELY)
    return list(optimize(program.pdg, chosen).pdg.nodes())


def elman() -> ot.Program:
    """A recurrent layer whose equation reads the input of the next step."""
    b, t = ot.dims("b t")
    x = ot.input("x", shape=(3,), over=(b, t))
    w, u = ot.input("w", shape=(5, 5)), ot.input("u", shape=(3, 5))
    h = ot.recurrent("h", shape=(5,), over=(b, t))
    h[b, 0] = ot.tanh(x[b, 0] @ u)
    h[b, t + 1] = ot.tanh(h @ w + x[b, t + 1] @ u)
    return ot.Program(h=h)


def bootstrapped() -> ot.Program:
    """A difference with the next value, or with nothing at the last step."""
    b, t = ot.dims("b t")
    v = ot.input("v", over=(b, t))
    following = ot.where(t < t.size - 1, ot.tanh(v[b, t + 1]), 0.0)
    return ot.Program(loss=(following - v)[:, :].sum())


def test_the_projection_of_all_inputs_is_one_product() -> None:
    rows = [str(n.shape[0]) for n in nodes(elman()) if isinstance(n.op, Matmul)]
    assert sorted(rows) == ["B", "B * T"]


def test_without_the_family_the_projection_stays_in_the_loop() -> None:
    found = nodes(elman(), every_rule().without("domain/lift-product"))
    assert not any(isinstance(n.op, Matmul) and str(n.shape[0]) == "B * T" for n in found)


def test_a_case_is_cut_into_ranges_without_conditions() -> None:
    assert any(isinstance(n.op, Case) for n in bootstrapped().pdg.nodes())
    assert not any(isinstance(n.op, Case) for n in nodes(bootstrapped()))


def test_a_read_under_its_own_condition_is_whole() -> None:
    pdg = bootstrapped().pdg
    partial = partial_dims(pdg)
    case = next(n for n in pdg.nodes() if isinstance(n.op, Case))
    assert [d.name for d in partial[case.args[0]]] == ["t"]
    assert not partial[case]


def test_a_value_that_is_read_at_one_point_is_no_vector() -> None:
    i, e = ot.dims("i e")
    w = ot.carry("w", 0.0, over=(i, e))
    w.step(0.5 * w + ot.tanh(ot.input("x", over=(i, e))))
    shapes = {str(size) for n in nodes(ot.Program(final=w.final)) for size in n.shape}
    assert "E" not in shapes


def test_a_value_that_some_rows_are_too_short_for_is_not_read_at_all_of_them() -> None:
    """Whether element ``k`` exists depends on the row as well: found by fuzzing."""
    b, k, s = ot.dims("b k s")
    x = ot.input("x", over=(b, s))
    element = ot.cumsum(x[0 : ot.minimum(2 * b + 1, b.size)], axis=0)[..., k] + 1.0
    program = ot.Program(y=element.at(b=slice((k + 1) // 2, b.size)).sum(0).at(k=b))
    assert {d.name for d in partial_dims(program.pdg)[element.node]} == {"b", "k"}
    found = program.compile(hints={"B": 64, "S": 64})(x=np.ones((5, 3), "f4"), K=5)["y"]
    np.testing.assert_array_equal(found[:, 0], [10, 12, 16, 15, 18])
