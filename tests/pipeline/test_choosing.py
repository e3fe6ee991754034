"""A small program has several forms, and the one whose schedule takes least is compiled."""

from collections.abc import Callable

import numpy as np
import pytest

import ostinato as ot
from ostinato.compiler.forms import CHEAPEST, GAIN, fastest
from ostinato.pdg.errors import CycleError
from ostinato.rewrite.optimize import Optimized, RewriteOptions, Rewriting


def discounted() -> ot.Program:
    b, t = ot.dims("b t")
    return ot.Program(y=ot.discounted_sum(ot.input("x", over=(b, t))[b, t:], 0.9))


@pytest.fixture
def forms() -> Rewriting:
    return Rewriting(discounted().pdg, RewriteOptions())


def saying(*times: float) -> Callable[[Optimized], float]:
    """A schedule that takes these times, of one form after the other."""
    left = iter(times)
    return lambda form: next(left)


def test_another_form_is_taken_if_its_schedule_is_faster(forms: Rewriting) -> None:
    chosen = fastest(forms, saying(100.0, 50.0, 90.0, 90.0))
    assert chosen.pdg != forms.best().pdg


def test_the_cheapest_form_stays_when_another_is_hardly_faster(forms: Rewriting) -> None:
    cheapest = forms.best()
    hardly = 100.0 * GAIN
    assert fastest(forms, saying(100.0, *[hardly] * 3)).pdg == cheapest.pdg


def test_a_form_without_a_schedule_is_passed_over(forms: Rewriting) -> None:
    def unordered(form: Optimized) -> float:
        if form.pdg != cheapest.pdg:
            raise CycleError("no order", "", "")
        return 1.0

    cheapest = forms.best()
    chosen = fastest(forms, unordered)
    assert chosen.pdg == cheapest.pdg and chosen.times == {CHEAPEST: 1.0}
    assert all(line.endswith("was not compared: no order") for line in chosen.passed_over)
    assert chosen.passed_over


def test_a_large_program_has_one_form(forms: Rewriting, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ostinato.compiler.forms.MOST_NODES", 4)
    chosen = fastest(forms, saying())
    assert chosen.pdg == forms.best().pdg and chosen.times == {}


def test_what_was_compared_is_explained_and_the_least_is_compiled() -> None:
    run = discounted().compile(hints={"B": 256, "T": 512}, threads=1)
    compared = run.explain().forms
    assert len(compared) > 1 and f"predicted with {CHEAPEST}" in str(run.explain())
    predicted = run.explain(B=256, T=512).cost["predicted_ns"]
    assert predicted * GAIN <= min(compared.values())


def test_numbers_may_be_vectors_where_rows_stay_at_their_points() -> None:
    b = ot.dims("b")
    place = (ot.input("x", over=b) * 63.0).cast("int32")
    rows = ot.tanh(ot.take(ot.input("table", shape=(64, 16)), place, axis=0))
    forms = ot.Program(y=rows).compile(hints={"B": 4096}, threads=1).explain().forms
    assert forms["few reads of other rows"] == min(forms.values()) < forms[CHEAPEST]


def test_every_form_of_a_sum_is_right() -> None:
    x = np.random.default_rng(0).normal(size=(5, 7)).astype(np.float32)
    expected = discounted().interpret(x=x)["y"]
    for extents in ({"B": 4, "T": 8}, {"B": 512, "T": 512}, {"B": 1, "T": 4096}):
        found = discounted().compile(hints=extents)(x=x)["y"]
        np.testing.assert_allclose(found, expected, rtol=1e-5)


def test_a_form_that_is_fast_at_one_size_needs_all_sizes() -> None:
    assert discounted().compile(threads=1).explain().forms == {}
    assert discounted().compile(threads=1, hints={"B": 256}).explain().forms == {}
