"""Reads that leave the box of an expression become choices with its definition outside."""

from __future__ import annotations

import numpy as np
import pytest

import ostinato as ot
from ostinato.pdg.demand.check import check
from ostinato.pdg.demand.inside import inside, straying
from ostinato.pdg.errors import DomainError
from ostinato.pdg.interpret import interpret
from ostinato.report.drawing.mathematics import equations
from tests.pipeline.test_outside import EXTENTS, PROGRAMS, Build, X


@pytest.mark.parametrize("build", PROGRAMS, ids=lambda f: f.__name__)
def test_the_written_out_program_means_the_same_and_stays_inside(build: Build) -> None:
    program = build()
    bound = program.signature.bind({"x": X, **EXTENTS.get(build, {})}, "")
    found = inside(program.pdg)
    assert program.pdg.reads_outside and straying(check(found)) == []
    expected = interpret(program.pdg, bound.extents, bound.inputs)
    for name, value in interpret(found, bound.extents, bound.inputs).items():
        np.testing.assert_array_equal(value, expected[name])


def test_a_program_that_stays_inside_is_left_as_it_is() -> None:
    t = ot.dims("t")
    h = ot.recurrent("h", over=t)
    h[0] = 1.0
    h[t + 1] = ot.tanh(h) + ot.input("x", over=t)
    pdg = ot.Program(h=h).pdg
    assert not pdg.reads_outside and inside(pdg) is pdg


def test_what_lies_outside_is_one_choice() -> None:
    t = ot.dims("t")
    total = ot.input("x", over=t)[: t + 1].sum(0)
    shown = equations(inside(ot.Program(y=total[t - 1]).pdg))
    assert "t ≥ 1" in shown and "else" in shown, shown


def test_a_slice_that_runs_further_with_another_dim_reads_a_longer_dim() -> None:
    t, i = ot.dims("t i")
    x = ot.input("x", over=t)[: ot.maximum(ot.minimum(t + 1, t.size), 0)].sum(0)
    program = ot.Program(y=x[t - i : t + i + 1].sum(0))
    given = {"x": X, "I": 3}
    expected = program.interpret(**given)["y"]
    np.testing.assert_allclose(program.compile()(**given)["y"], expected)


def test_a_draw_has_no_value_outside_its_domain() -> None:
    b, t = ot.dims("b t")
    noise = ot.random.normal((), over=(b, t)).named("noise")
    with pytest.raises(DomainError) as caught:
        ot.Program(y=noise[b, t - 1])
    assert "`noise` is read at t = -1, outside its domain 0 <= t < T" in str(caught.value)
    assert "Read `noise[b, ot.maximum(t-1, 0)]`" in str(caught.value)


def test_a_host_call_has_no_value_outside_its_domain() -> None:
    t = ot.dims("t")
    twice = ot.host(np.negative, ot.input("x", over=t), shape=(), dtype="float32")
    assert isinstance(twice, ot.Tensor)
    with pytest.raises(DomainError, match="is read at t = -1, outside its domain 0 <= t < T"):
        ot.Program(y=twice[t - 1])


def test_a_step_that_every_extent_has_is_inside() -> None:
    b, t = ot.dims("b t")
    x = ot.input("x", over=(b, t)) * 2.0
    assert not ot.Program(first=x[:, 0].mean(), last=x[:, t.size - 1].mean()).pdg.reads_outside
