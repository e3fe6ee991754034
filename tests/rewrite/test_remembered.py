"""Saturations are kept for programs that are compiled again with other options."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

import pytest

import ostinato as ot
from ostinato.pdg.node import Pdg
from ostinato.rewrite.engine import remembered
from ostinato.rewrite.engine.egglog_session import SCOPES, Engine, Session
from ostinato.rewrite.engine.language import program
from ostinato.rewrite.engine.saturate import Budget, Saturation, saturate
from ostinato.rewrite.optimize import RewriteOptions, optimize

OPTIONS = RewriteOptions(hints={"T": 100})


@pytest.fixture(autouse=True)
def runs(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Budget]]:
    """The budgets of the saturations that ran, from none kept on."""
    done: list[Budget] = []

    def counted(engine: Engine, budget: Budget, families: Mapping[str, str]) -> Saturation:
        done.append(budget)
        return saturate(engine, budget, families)

    monkeypatch.setattr(remembered, "_MADE", {})
    monkeypatch.setattr("ostinato.rewrite.engine.remembered.saturate", counted)
    yield done


def scaled(by: float = 2.0) -> Pdg:
    t = ot.dims("t")
    x = ot.input("x", over=t)
    return ot.Program(y=x[: t + 1].sum(0) + by).pdg


def test_other_hints_run_no_rules_and_choose_what_they_would_alone(runs: list[Budget]) -> None:
    pdg, other = scaled(), replace(OPTIONS, hints={"T": 7})
    optimize(pdg, OPTIONS)
    again = optimize(pdg, other)
    assert len(runs) == 1 and again.report.saturation.complete
    alone = optimize(pdg, replace(other, budget=Budget(rounds=100)))
    assert len(runs) == 2 and again.pdg == alone.pdg and again.report.rules == alone.report.rules
    assert again.report.price_after == alone.report.price_after


def test_what_is_told_otherwise_is_another_saturation(runs: list[Budget]) -> None:
    for by in (0.0, -0.0, 1.0):
        optimize(scaled(by), OPTIONS)
    optimize(scaled(), replace(OPTIONS, rules=ot.rules.without("incremental")))
    optimize(scaled(), replace(OPTIONS, budget=Budget(rounds=100)))
    assert len(runs) == 5


def test_what_a_budget_ended_is_not_kept(runs: list[Budget]) -> None:
    for _ in range(2):
        optimize(scaled(), replace(OPTIONS, budget=Budget(rounds=1)))
    assert len(runs) == 2


def test_few_are_kept(runs: list[Budget]) -> None:
    for by in (*range(remembered.KEPT + 1), remembered.KEPT, 0):
        optimize(scaled(float(by)), OPTIONS)
    assert len(runs) == remembered.KEPT + 2


def test_an_engine_that_served_many_programs_is_made_anew() -> None:
    served = Session(program(ot.rules.rules[:1]))

    def next_engine() -> Engine:
        with served as engine:
            return engine

    first = next_engine()
    assert all(next_engine() is first for _ in range(SCOPES - first.scopes))
    assert next_engine() is not first and next_engine().scopes == 2
