"""Saturation ends by itself and stays small, for every pair of families on every program."""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations

import pytest

import ostinato as ot
from ostinato.rewrite.engine.saturate import Budget
from ostinato.rewrite.optimize import RewriteOptions, optimize
from ostinato.rewrite.registry import every_rule
from tests.rewrite import programs
from tests.rewrite.larger import NAMES, larger

QUICK = ("gae", "softmax_over_the_past", "windows", "crowd", "normalised", "shared_weight")
PAIRS = tuple(combinations(every_rule().families, 2))
MOST = 27  # e-nodes per node of the program; three nested forms of each value need about 10


@pytest.mark.parametrize("k", range(len(PAIRS)), ids=["+".join(pair) for pair in PAIRS])
def test_two_families_together_reach_a_fixpoint(k: int) -> None:
    pair, made = PAIRS[k], (*programs.ALL, *QUICK)
    for name in made[k % 3 :: 3]:  # every family meets every program in some pair
        pdg = programs.ALL[name]() if name in programs.ALL else larger(name)
        report = optimize(pdg, RewriteOptions(rules=every_rule().only(*pair))).report
        assert report.saturation.complete, report.saturation.stopped
        assert report.enodes <= MOST * len(pdg.nodes())


@pytest.mark.parametrize("name", [*programs.ALL, *NAMES])
def test_all_families_together_reach_a_fixpoint(name: str) -> None:
    pdg = programs.ALL[name]() if name in programs.ALL else larger(name)
    report = optimize(pdg).report
    assert report.saturation.complete, report.saturation.stopped
    assert report.enodes <= MOST * len(pdg.nodes())


def test_a_budget_that_ends_early_is_noticed() -> None:
    report = optimize(programs.rollout(), RewriteOptions(budget=Budget(rounds=1))).report
    assert not report.saturation.complete
    assert report.saturation.stopped == "the budget of 1 rounds was reached"
    looked = optimize(programs.rollout(), RewriteOptions(budget=Budget(visits=9))).report
    assert looked.saturation.stopped == "the budget of 9 visits was reached"
    assert len(looked.saturation.rows) == 1 and not looked.saturation.complete


def test_a_graph_that_would_outgrow_its_budget_stops_before() -> None:
    first, second, *_ = optimize(programs.running()).report.saturation.rows
    assert first < second
    hurried = RewriteOptions(budget=Budget(rows=second))
    saturation = optimize(programs.running(), hurried).report.saturation
    assert saturation.stopped == f"the budget of {second} rows would not last for another round"
    assert saturation.rows == [first, second] and not saturation.complete


def test_a_search_that_ends_early_is_noticed() -> None:
    report = optimize(programs.rollout(), RewriteOptions(budget=Budget(steps=30))).report
    assert report.search == "the budget of 30 steps was reached"
    assert "local search: the budget of 30 steps was reached" in str(report)
    assert optimize(programs.rollout()).report.search == ""


S, T = ot.dims("s t")
_LINE, _IMAGE = (ot.input(name, shape, over=(S, T)) for name, shape in (("x", 4), ("y", (4, 4))))
_SO_FAR, _WINDOW = _LINE[S, : T + 1], _LINE[S, ot.maximum(T - 3, 0) : T + 1]
_ONES = ot.input("z", (1, 4), over=(S, T))
ELEMENTS: dict[str, Callable[[], ot.Tensor]] = {
    "first": lambda: _SO_FAR[..., 0, :],
    "last": lambda: _SO_FAR[..., -1, :],
    "first to come": lambda: _LINE[S, T:][..., 0, :],
    "last to come": lambda: _LINE[S, T:][..., -1, :],
    "first of a window": lambda: _WINDOW[..., 0, :],
    "both ends of a window": lambda: _WINDOW[..., 0, :] + _WINDOW[..., -1, :],
    "nested ranges": lambda: _LINE[: S + 1, : T + 1][..., 0, 0, :],
    "both ends joined": lambda: ot.concatenate([_SO_FAR[..., 0, :], _SO_FAR[..., -1, :]], 0),
    "flipped": lambda: ot.flip(_SO_FAR[..., 0, :], 0),
    "flipped range": lambda: ot.flip(_SO_FAR, 0)[..., 0, :],
    "range twice": lambda: ot.concatenate([_SO_FAR, _SO_FAR], 0)[..., 0, :],
    "computed, then ranged": lambda: ot.tanh(_LINE)[S, : T + 1][..., -1, :],
    "ranged, then computed": lambda: ot.exp(_SO_FAR)[..., -1, :],
    "row of a matrix": lambda: _IMAGE[..., 0, :][S, : T + 1][..., -1, :],
    "transposed": lambda: _IMAGE.T[S, : T + 1][..., -1, 0, :],
    "reshaped": lambda: _IMAGE[S, : T + 1][..., 0, :, :].reshape(16),
    "reshaped, then ranged": lambda: _IMAGE.reshape(16)[S, : T + 1][..., -1, :],
    "axis of size 1": lambda: _ONES[S, : T + 1][..., 0, 0, :],
    "new axis": lambda: (_SO_FAR[..., 0, :].reshape(1, 4) @ ot.ones((4, 4))).reshape(4),
    "greatest and first": lambda: _SO_FAR.max(0) + _SO_FAR[..., 0, :],
}


@pytest.mark.parametrize("name", ELEMENTS)
def test_elements_of_ranges_at_computed_positions_reach_a_fixpoint(name: str) -> None:
    element = ELEMENTS[name]()
    places = ot.floor(element * 4.0).cast("int32")
    pdg = ot.Program(y=ot.take(element, places, axis=0)).pdg
    report = optimize(pdg).report
    assert report.saturation.complete, report.saturation.stopped
    assert report.enodes <= MOST * len(pdg.nodes())
