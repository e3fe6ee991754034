"""Sums take time linear in the extent however their weights and masks are spelled, as defined."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest

import ostinato as ot
from ostinato.pdg.interpret import interpret
from ostinato.rewrite.optimize import optimize
from tests.property.today import of_today
from tests.rewrite.sums import (
    ELEMENTS,
    ENTROPIES,
    GAPS,
    LINEAR,
    MASKED,
    PRODUCTS,
    RANGES,
    VARIANCES,
    WEIGHTS,
    drawn,
    drawn_mask,
    order_of_work,
    past,
    points,
    whole,
)


@pytest.mark.parametrize("name", WEIGHTS)
def test_a_sum_is_linear_however_its_weights_are_spelled(name: str) -> None:
    made = list(RANGES.values())
    make = made[list(WEIGHTS).index(name) % len(made)]
    for over in dict.fromkeys((past, make)):
        program = over(lambda k, x, t: WEIGHTS[name](k, x, t).sum(0))
        assert order_of_work(program) < LINEAR
        means_the_same(program)


@pytest.mark.parametrize("name", MASKED)
def test_a_fold_is_linear_however_its_mask_is_spelled(name: str) -> None:
    program = whole(MASKED[name])
    assert order_of_work(program) < LINEAR or name == "s != t"
    means_the_same(program)


@pytest.mark.parametrize("name", ELEMENTS)
def test_an_element_is_linear_whatever_it_is_an_element_of(name: str) -> None:
    program = points(ELEMENTS[name])
    assert order_of_work(program) < LINEAR
    means_the_same(program)


@pytest.mark.parametrize("name", ENTROPIES)
def test_an_entropy_is_linear_however_it_is_spelled(name: str) -> None:
    program = points(ENTROPIES[name])
    assert order_of_work(program) < LINEAR
    means_the_same(program)


def test_an_entropy_of_large_scores_loses_no_more_than_its_definition() -> None:
    """Distances from the greatest are summed, never scores: their size does not matter."""
    steps, program = 300, points(ENTROPIES["p l"])
    small = np.random.default_rng(1).normal(size=(1, steps)).cumsum(-1).astype("float32")
    for offset in (0.0, 2.0**20):  # by this much scores are exact multiples of 1/8
        x = np.round(small * 8) / 8 + np.float32(offset)
        found = interpret(optimize(program.pdg).pdg, {"B": 1, "T": steps}, {"x": x})["y"]
        weights = np.exp(x - x.max(-1)).astype("float64")
        p = (weights / weights.sum())[0]
        expected = -(p * np.log(np.maximum(p, 1e-300))).sum()
        np.testing.assert_allclose(found[0, -1], expected, rtol=1e-5)


@pytest.mark.parametrize("name", VARIANCES)
def test_a_weighted_variance_is_linear(name: str) -> None:
    over, make = VARIANCES[name]
    program = over(make)
    assert order_of_work(program) < LINEAR
    means_the_same(program)


@pytest.mark.parametrize("name", PRODUCTS)
def test_a_sum_of_outer_products_is_linear_however_it_decays(name: str) -> None:
    program, chance = PRODUCTS[name](), np.random.default_rng(3)
    assert order_of_work(program) < LINEAR
    given = {each: chance.normal(size=(2, 9, 3)).astype("float32") for each in "xv"}
    expected = program.interpret(**given)["y"]
    found = interpret(optimize(program.pdg).pdg, {"B": 2, "T": 9}, given)["y"]
    np.testing.assert_allclose(found, expected, rtol=2e-4, atol=1e-5)


@pytest.mark.parametrize("name", GAPS)
def test_a_known_gap_is_still_one(name: str) -> None:
    assert order_of_work(GAPS[name]()) > LINEAR, f"`{name}` is linear now: it is no gap"


@pytest.mark.parametrize("seed", of_today(range(30)))
def test_a_sum_with_a_weight_of_the_grammar_is_linear_and_means_the_same(seed: int) -> None:
    program = drawn(seed)
    assert order_of_work(program) < LINEAR
    means_the_same(program)


@pytest.mark.parametrize("seed", of_today(range(30)))
def test_a_fold_under_a_mask_of_the_grammar_means_the_same(seed: int) -> None:
    means_the_same(drawn_mask(seed))


def faded(tau: float, age: ot.Tensor, x: ot.Tensor, _: ot.Dimension) -> ot.Tensor:
    return (ot.exp(-age / tau) * x).sum(0)


def test_a_weight_of_some_lag_has_few_roundings_of_its_own_size_more() -> None:
    """`3 k + 2` of them: docs/rewriting.md."""
    steps, taus = 400, (2.0, 20.0, 200.0)
    x = np.random.default_rng(0).normal(size=(1, steps)).astype("float32")
    for tau in taus:
        program = past(partial(faded, tau))
        found = interpret(optimize(program.pdg).pdg, {"B": 1, "T": steps}, {"x": x})["y"][0, -1]
        lag = np.arange(steps)[::-1]
        terms = np.exp(-lag / np.float64(np.float32(tau))) * x[0].astype("float64")
        bound = ((3 * lag + 2) * np.abs(terms)).sum() * np.finfo("float32").eps / 2
        assert abs(found - terms.sum()) <= bound


def means_the_same(program: ot.Program, steps: int = 9) -> None:
    """The chosen form and the definition give the same numbers."""
    x = np.random.default_rng(steps).normal(size=(2, steps)).astype("float32")
    expected = program.interpret(x=x)["y"]
    found = interpret(optimize(program.pdg).pdg, {"B": 2, "T": steps}, {"x": x})["y"]
    np.testing.assert_allclose(found, expected, rtol=2e-4, atol=1e-5)
