"""Local search over chosen terms: sharing pays once, terms stay trees of smaller terms."""

from __future__ import annotations

import itertools

from hypothesis import given
from hypothesis import strategies as st

from ostinato.rewrite.extract.improve import Choices, LocalSearch
from ostinato.rewrite.extract.space import MOVING


def graph_price(choices: Choices, best: dict[int, int], root: int) -> float | None:
    """The price of everything the root needs, each place once; None for a term in itself."""
    done: set[int] = set()
    open_: set[int] = set()

    def visit(place: int) -> bool:
        if place in open_:
            return False
        if place not in done:
            open_.add(place)
            if not all(visit(kid) for kid in choices.kids[best[place]]):
                return False
            open_.discard(place)
            done.add(place)
        return True

    return sum(choices.price[best[p]] for p in done) if visit(root) else None


def searched(choices: Choices, best: dict[int, int], root: int) -> dict[int, int]:
    search = LocalSearch(choices, [best[place] for place in sorted(best)])
    search.run([root])
    return dict(enumerate(search.best))


def test_a_shared_operand_wins_over_two_cheaper_ones() -> None:
    # place 0 needs 1 and 2; each is made from its own leaf (price 3) or from shared place 3 (4)
    choices = Choices(
        options=[[0], [1, 2], [3, 4], [5]],
        kids=[(1, 2), (), (3,), (), (3,), ()],
        item=range(6),
        price=[1.0, 3.0, 0.5, 3.0, 0.5, 4.0],
    )
    best = searched(choices, {0: 0, 1: 2, 2: 3, 3: 5}, 0)
    assert best[1] == 2 and best[2] == 4


def test_two_switches_that_only_gain_together_are_found() -> None:
    # places 1 and 2 have a leaf each (price 3), or share place 3 (4): one alone loses
    choices = Choices(
        options=[[0], [1, 2], [3, 4], [5]],
        kids=[(1, 2), (), (3,), (), (3,), ()],
        item=range(6),
        price=[1.0, 3.0, 0.5, 3.0, 0.5, 4.0],
    )
    best = searched(choices, {0: 0, 1: 1, 2: 3, 3: 5}, 0)
    assert best[1] == 2 and best[2] == 4


def test_what_two_places_choose_alike_is_paid_once() -> None:
    # options 2 and 4 are the same e-node in two places
    choices = Choices(
        [[0], [1, 2], [3, 4]], [(1, 2), (), (), (), ()], [0, 1, 2, 3, 2], [1.0, 3.0, 4.0, 3.0]
    )
    best = searched(choices, {0: 0, 1: 1, 2: 3}, 0)
    assert best == {0: 0, 1: 2, 2: 4}


def test_a_term_never_contains_itself() -> None:
    # 0 may be its own operand's operand, for less
    choices = Choices([[0], [1, 2]], [(1,), (), (0,)], range(3), [1.0, 5.0, 0.1])
    assert searched(choices, {0: 0, 1: 1}, 0) == {0: 0, 1: 1}


def test_the_search_ends_when_its_steps_are_used_up() -> None:
    choices = Choices([[0, 1]], [(), ()], range(2), [2.0, 1.0])
    search = LocalSearch(choices, [0], steps=0)
    search.run([0])
    assert search.best == [0] and search.switches == 0
    assert not search.is_complete


@st.composite
def graphs(draw: st.DrawFn) -> Choices:
    """Operands of first options have larger numbers, so these make no circle; others may."""
    places = draw(st.integers(2, 7))
    options: list[list[int]] = []
    kids: list[tuple[int, ...]] = []
    price: list[float] = []
    for place in range(places):
        options.append([])
        for later in range(draw(st.integers(1, 3))):
            options[place].append(len(kids))
            least = 0 if later else place + 1
            below = st.integers(least, max(least, places - 1))
            kids.append(() if least == places else tuple(draw(st.lists(below, max_size=3))))
            price.append(float(draw(st.integers(1, 9))))
    return Choices(options, kids, range(len(kids)), price)


@given(graphs())
def test_it_is_never_dearer_than_its_start_nor_cheaper_than_the_optimum(choices: Choices) -> None:
    start = {place: found[0] for place, found in enumerate(choices.options)}
    found = graph_price(choices, searched(choices, start, 0), 0)
    every = [
        graph_price(choices, dict(enumerate(picked)), 0)
        for picked in itertools.product(*choices.options)
    ]
    first = graph_price(choices, start, 0)
    assert found is not None and first is not None
    assert min(p for p in every if p is not None) <= found <= first


class Patient(LocalSearch):
    """It looks at all operands of operands to see a circle."""

    def _is_circle(self, start: int, option: int) -> bool:
        seen, stack = set[int](), [*self.choices.kids[option]]
        while stack:
            place = stack.pop()
            if place not in seen:
                seen.add(place)
                stack += self.choices.kids[self.best[place]]
        return start in seen


@given(graphs())
def test_what_is_lower_than_a_place_need_not_be_looked_at(choices: Choices) -> None:
    quick, patient = (
        search(choices, [found[0] for found in choices.options])
        for search in (LocalSearch, Patient)
    )
    for search in (quick, patient):
        search.run([0])
    assert quick.best == patient.best and quick.switches == patient.switches


def test_every_operator_that_reads_other_points_moves() -> None:
    assert {"at", "sl", "look", "running", "lin"} == MOVING
