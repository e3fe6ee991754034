"""Of the forms that fit in memory, the one whose schedule takes least time is compiled."""

import pytest

import ostinato as ot
from ostinato.compiler.forms import HALVINGS, PRICES, Room, Taken, fitting
from ostinato.pdg.errors import MemoryLimitError
from ostinato.rewrite.optimize import Optimized, RewriteOptions, Rewriting

LIMIT = 100


@pytest.fixture(scope="module")
def forms() -> Rewriting:
    b, t = ot.dims("b t")
    y = ot.discounted_sum(ot.input("x", over=(b, t))[b, t:], 0.9)
    return Rewriting(ot.Program(y=y).pdg, RewriteOptions())


class Planner:
    """Says what one form after the other takes, and remembers the forms."""

    def __init__(self, *taken: Taken) -> None:
        self._left, self.seen = list(taken), list[Optimized]()

    def __call__(self, form: Optimized) -> Taken:
        self.seen.append(form)
        return self._left.pop(0) if len(self._left) > 1 else self._left[0]

    def chosen(self, forms: Rewriting) -> int:
        found = fitting(forms, forms.best(), Room(LIMIT, {}, self))
        return next(k for k, form in enumerate(self.seen) if form is found)


def test_the_cheapest_form_is_taken_where_it_fits_as_it_is(forms: Rewriting) -> None:
    planner = Planner(Taken(LIMIT, 9.0))
    assert planner.chosen(forms) == 0 and len(planner.seen) == 1


def test_a_fast_form_that_is_too_large_is_not_taken(forms: Rewriting) -> None:
    large, small = Taken(LIMIT + 1, 1.0), Taken(LIMIT, 9.0)
    assert Planner(large, large, small, large).chosen(forms) == 2


def test_no_other_form_is_tried_where_it_would_add_up_in_another_order(forms: Rewriting) -> None:
    planner = Planner(Taken(LIMIT + 1, 1.0))
    with pytest.raises(MemoryLimitError):
        fitting(forms, forms.best(), Room(LIMIT, {}, planner, keeps_form=True))
    assert len(planner.seen) == 1


def test_the_least_memory_that_was_found_is_told(forms: Rewriting) -> None:
    sizes = range(LIMIT + 10, LIMIT, -1)
    planner = Planner(*(Taken(size, 1.0) for size in sizes))
    with pytest.raises(MemoryLimitError, match=f"memory_limit={sizes[len(PRICES)]} or more"):
        planner.chosen(forms)
    assert len(planner.seen) == 1 + len(PRICES) and HALVINGS < len(PRICES)
