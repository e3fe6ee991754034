"""The equality of advantages in every spelling is shown, whichever affine form is found first."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import pytest

import ostinato as ot
from ostinato.certificate.equality import check_equality
from ostinato.certificate.make import Compilation, certify
from ostinato.certificate.replay import planned
from ostinato.compiler.options import Options
from ostinato.compiler.pipeline import optimize_pdg
from ostinato.pdg.half_storage import encoded
from ostinato.rewrite.registry import every_rule
from tests.rewrite.sums import ELEMENTS, PRODUCTS, points
from tests.rewrite.test_decays import ATTENTION, SUMS, attention, decaying
from tests.rewrite.test_ends import ADVANTAGES, BACKWARDS, WEIGHTED, advantage, multiplied, weighted
from tests.rewrite.test_joins import heads
from tests.rewrite.test_places import LONG, RANGES, places
from tests.rewrite.test_positions import POSITIONS, turned
from tests.rewrite.test_spellings import SPELLINGS


def _decaying(name: str) -> Callable[[], ot.Program]:
    return lambda: decaying(SUMS[name])


def _attention(name: str) -> Callable[[], ot.Program]:
    return lambda: attention(ATTENTION[name])


IN_ORDER = ("the last of a sort", "the first of the greatest")

DECAYS: dict[str, Callable[[], ot.Program]] = {
    **{name: _decaying(name) for name in SUMS},
    **{name: _attention(name) for name in ("keys", "scores", "one query")},
    "a choice outside of a step": lambda: advantage(ADVANTAGES["one choice outside"]),
    "positions of a window": lambda: turned(POSITIONS["first and count"]),
    "heads of one trunk": lambda: heads(6, 1),
    "a matrix of powers and ends": lambda: multiplied(BACKWARDS["powers outside"]),
    "values with powers and ends": lambda: weighted(WEIGHTED["live values"]),
}


@pytest.mark.parametrize("spelling", SPELLINGS, ids=lambda make: make.__name__)
def test_the_equality_of_every_spelling_is_shown(spelling: Callable[[], ot.Program]) -> None:
    shows(spelling())


@pytest.mark.parametrize("name", DECAYS)
def test_the_equality_of_sums_that_decay_is_shown(name: str) -> None:
    shows(DECAYS[name]())


@pytest.mark.parametrize("part", RANGES)
def test_the_equality_of_places_is_shown(part: str) -> None:
    shows(places("argmax", part), LONG)


def _element(name: str) -> Callable[[], ot.Program]:
    return lambda: points(ELEMENTS[name])


def _window(steps: int) -> ot.Program:
    b, t = ot.dims("b t")
    return ot.Program(
        y=ot.input("x", over=(b, t))[b, ot.maximum(t - (steps - 1), 0) : t + 1].sum(0)
    )


OTHERS: dict[str, Callable[[], ot.Program]] = {
    **{name: _element(name) for name in IN_ORDER},
    **PRODUCTS,
    "an even window": lambda: _window(6),
    "an odd window": lambda: _window(7),
}


@pytest.mark.parametrize("name", OTHERS)
def test_the_equality_of_elements_products_and_windows_is_shown(name: str) -> None:
    shows(OTHERS[name](), LONG)


def shows(program: ot.Program, hints: Mapping[str, int] | None = None) -> None:
    """The terms of a certificate prove the program equal to what was scheduled."""
    options = Options(threads=2, hints=dict(hints or {}))
    optimized = optimize_pdg(encoded(program.pdg), every_rule(), options)
    schedule = planned(optimized, options)
    made = certify(Compilation(program.pdg, every_rule(), optimized, schedule))
    assert made.rules
    assert "roots equal" in check_equality(made, made.prepared or encoded(made.source))
