"""A program with its cases drawn anew is the source at every point, or it is refused."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

import ostinato as ot
from ostinato.certificate.prepared import Changed, check_prepared
from ostinato.pdg import build
from ostinato.pdg.condition import Cond, at_least, every
from ostinato.pdg.index import Expr, expr
from ostinato.pdg.node import Equation, Node, Pdg
from tests.pipeline.test_prompt import decoder
from tests.rewrite.programs import B, T, floats

X, Y = floats("x", (), B, T), floats("y", (), B, T)
STATE = build.rec("state", (), "float32", (B, T))
BEFORE = build.read(STATE, [(T, expr(T) - 1)])
FEW, FIRST = at_least(2, B), at_least(0, T)


def program(*cases: tuple[Cond, Node]) -> Pdg:
    return Pdg((("state", STATE),), {"state": Equation(STATE, cases)})


def add(x: Node, y: Node) -> Node:
    return build.map_node("add", [x, y])


SOURCE = program((FIRST, X), (FEW, add(BEFORE, X)), (every(), add(BEFORE, Y)))


def refusal(prepared: Pdg) -> str:
    with pytest.raises(Changed) as caught:
        check_prepared(SOURCE, prepared)
    return str(caught.value)


def test_cases_may_become_a_choice() -> None:
    chosen = build.case(FEW, add(BEFORE, X), add(BEFORE, Y))
    assert check_prepared(SOURCE, program((FIRST, X), (every(), chosen)))
    inside = add(BEFORE, build.case(FEW, X, Y))
    assert check_prepared(SOURCE, program((FIRST, X), (every(), inside)))


def test_a_choice_on_another_condition_is_refused() -> None:
    chosen = build.case(at_least(3, B), add(BEFORE, X), add(BEFORE, Y))
    text = refusal(program((FIRST, X), (every(), chosen)))
    assert text == "`x` takes the place of `y`"


def test_sides_exchanged_are_refused() -> None:
    chosen = build.case(FEW, add(BEFORE, Y), add(BEFORE, X))
    assert "takes the place of" in refusal(program((FIRST, X), (every(), chosen)))


def test_a_known_step_may_be_written_out() -> None:
    known = build.case(at_least(1, T), build.read(X, [(T, expr(0))]), BEFORE)
    cases = (FIRST, X), (FEW, add(known, X)), (every(), add(known, Y))
    assert check_prepared(SOURCE, program(*cases))


@pytest.mark.parametrize("step", [expr(1), expr(T)])
def test_a_known_step_written_out_at_the_wrong_place_is_refused(step: Expr) -> None:
    known = build.case(at_least(1, T), build.read(X, [(T, step)]), BEFORE)
    cases = (FIRST, X), (FEW, add(known, X)), (every(), add(known, Y))
    assert refusal(program(*cases))


def test_a_step_that_is_not_known_yet_is_refused() -> None:
    known = build.case(at_least(2, T), build.read(X, [(T, expr(0))]), BEFORE)
    cases = (FIRST, X), (FEW, add(known, X)), (every(), add(known, Y))
    assert refusal(program(*cases))


def test_another_recurrence_or_output_is_refused() -> None:
    assert "other outputs" in refusal(replace(SOURCE, outputs=(("other", STATE),)))
    other = build.rec("other", (), "float32", (B, T))
    more = {**SOURCE.equations, "other": Equation(other, ((every(), X),))}
    assert "`other` is no recurrence" in refusal(replace(SOURCE, equations=more))


def by_rows() -> ot.Program:
    """Return a recurrence whose rows have equations of their own."""
    b, t = ot.dims("b t")
    x = ot.input("x", over=(b, t))
    s = ot.recurrent("s", over=(b, t))
    s[b, 0] = 0.0
    s[(b < 3) & (t >= 1)] = s[b, t - 1] + x
    s[b, t + 1] = s * 0.5
    return ot.Program(s=s)


@pytest.mark.parametrize("make", [by_rows, lambda: decoder(1)])
def test_certificates_of_prepared_programs_hold(
    make: Callable[[], ot.Program], tmp_path: Path
) -> None:
    make().compile(certificate=tmp_path / "c.json")
    verdict = ot.verify_certificate(tmp_path / "c.json")
    assert verdict.holds, str(verdict)
    found = {finding.check: finding.about for finding in verdict.findings}
    assert found["cases"].startswith("the same at every point")
