"""What the compiler could not do is said, once, with the reason."""

from __future__ import annotations

import warnings
from pathlib import Path

import pytest

import ostinato as ot
from ostinato.rewrite.engine.saturate import Budget
from ostinato.rewrite.optimize import RewriteOptions, Rewriting


def program() -> ot.Program:
    t = ot.dims("t")
    x = ot.input("x", over=t)
    return ot.Program(y=ot.tanh(x[: t + 1].sum(0)) * 2.0)


@pytest.mark.parametrize(
    ("budget", "notice"),
    [
        (Budget(rounds=1), "the budget of 1 rounds was reached"),
        (Budget(rows=10), "the budget of 10 rows was reached"),
        (Budget(steps=1), "the budget of 1 steps was reached"),
    ],
    ids=str,
)
def test_a_budget_that_bites_is_a_warning_and_a_note(
    budget: Budget, notice: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def hurried(pdg: object, options: RewriteOptions) -> Rewriting:
        return Rewriting(program().pdg, RewriteOptions(options.rules, options.hints, budget))

    monkeypatch.setenv("OSTINATO_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr("ostinato.rewrite.optimize.Rewriting", hurried)
    with pytest.warns(UserWarning, match=notice):
        compiled = program().compile()
    assert notice in str(compiled.explain())


def test_a_complete_compilation_has_no_notes() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert program().compile().explain().notes == ()


def test_a_form_that_is_not_proved_to_be_defined_is_not_taken() -> None:
    """The product leaves a loop that has no steps, and reads what a short input lacks."""
    b = ot.dims("b")
    x = ot.input("x", over=b)
    later = ot.sin(x.at(b=b + 2))
    total = later.at(b=slice(0, None, 4)).prod(0) + later
    program = ot.Program(y=total.at(b=slice(b.size, b.size)).sum(0))
    with pytest.warns(UserWarning, match="is not proved to be defined: `x` is read at b = 2"):
        compiled = program.compile()
    assert compiled(x=[1.0])["y"] == compiled(x=[1.0, 2.0, 3.0])["y"] == 0.0
