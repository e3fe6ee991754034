"""The extractor against the exact optimum of what it chooses from."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ostinato.pdg.node import Pdg
from ostinato.rewrite.extract.export import ENode
from ostinato.rewrite.extract.improve import Choices
from ostinato.rewrite.extract.legal_terms import Limit
from ostinato.rewrite.optimize import RewriteOptions
from tests.rewrite import oracle, programs, solver
from tests.rewrite.larger import NAMES, larger
from tests.rewrite.test_improve import graph_price

SHARE = 1.02  # of the optimum: what local search may cost
SECONDS = 120.0  # the largest program takes a tenth of it
SLOW = ("reinforce", "softmax_over_the_past")  # see bench/rewriting/oracle.py
ROUNDING = 1 + 1e-4  # the solver ignores prices of views, of which there may be hundreds
HINTS: tuple[dict[str, int], ...] = ({}, {"B": 4, "T": 512, "I": 100})


def assert_near_the_optimum(pdg: Pdg, hints: dict[str, int], is_exact: bool) -> None:
    """Every form of a program costs at most ``SHARE`` times its optimum."""
    problem = oracle.problem(pdg, RewriteOptions(hints=hints))
    for form in problem.forms():
        price = problem.selection(form).price
        enough = float("inf") if is_exact else price / SHARE
        bound = oracle.optimum(problem, form, SECONDS, enough)
        assert price <= SHARE * bound.least, f"{price:.0f} ns, but {bound.least:.0f} may do"
        assert bound.least <= ROUNDING * price, "the oracle excludes a legal selection"


@pytest.mark.parametrize("hints", HINTS, ids=str)
@pytest.mark.parametrize("name", programs.ALL)
def test_small_programs_cost_at_most_two_percent_more_than_the_optimum(
    name: str, hints: dict[str, int]
) -> None:
    assert_near_the_optimum(programs.ALL[name](), hints, is_exact=True)


@pytest.mark.parametrize("name", [name for name in NAMES if name not in SLOW])
def test_larger_programs_cost_at_most_two_percent_more_than_the_optimum(name: str) -> None:
    assert_near_the_optimum(larger(name), {}, is_exact=False)


@st.composite
def choices(draw: st.DrawFn) -> Choices:
    """A few places with any operands, circles included; the last place has a leaf."""
    places = draw(st.integers(2, 5))
    options: list[list[int]] = []
    kids: list[tuple[int, ...]] = []
    for place in range(places):
        more = draw(st.lists(st.lists(st.integers(0, places - 1), max_size=2), max_size=2))
        own = [tuple(dict.fromkeys(k)) for k in more]
        own.append(() if place + 1 == places else (draw(st.integers(place + 1, places - 1)),))
        options.append([len(kids) + k for k in range(len(own))])
        kids += own
    price = draw(st.lists(st.integers(1, 9), min_size=len(kids), max_size=len(kids)))
    return Choices(options, kids, range(len(kids)), [float(p) for p in price])


def as_space(all_of: Choices) -> oracle.Space:
    owner = {k: place for place, options in enumerate(all_of.options) for k in options}
    possible = [k for k in owner if owner[k] not in all_of.kids[k]]
    return oracle.Space(
        owner=[owner[k] for k in possible],
        kids=[all_of.kids[k] for k in possible],
        chosen=[(owner[k], ENode("mm", (k,), ())) for k in possible],
        outputs=[0],
        places={((), place, Limit(0, 1)): place for place in range(len(all_of.options))},
    )


@given(choices())
def test_the_oracle_finds_what_trying_every_choice_finds(all_of: Choices) -> None:
    options = as_space(all_of)
    price = {c: all_of.price[int(c[1].fields[0])] for c in options.chosen}
    every = (
        graph_price(all_of, dict(enumerate(picked)), 0)
        for picked in itertools.product(*all_of.options)
    )
    bound = oracle.solve(options, price, SECONDS)
    assert bound.found == pytest.approx(min(p for p in every if p is not None))
    assert bound.least == pytest.approx(bound.found, rel=2 * solver.GAP)
