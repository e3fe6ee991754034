"""Conditions hold where they say, and constants disappear from them."""

import itertools

from ostinato.pdg.condition import (
    ALWAYS,
    NEVER,
    Cond,
    at_least,
    equal,
    every,
    holds,
    negation,
    some,
)
from ostinato.pdg.index import Dim, Point, evaluate, expr

T, K = Dim("t"), Dim("k")
GRID: list[Point] = [{T: t, K: k} for t in range(-3, 5) for k in range(-3, 5)]
SIMPLE: list[Cond] = [
    at_least(T, 1),
    equal(T, K),
    at_least(K, expr(T) // 2),
    equal(expr(T) % 3, 1),
    ALWAYS,
    NEVER,
]


def test_conjunction_disjunction_and_negation_are_those_of_logic() -> None:
    for a, b in itertools.product(SIMPLE, repeat=2):
        for p in GRID:
            assert holds(every(a, b), p) == (holds(a, p) and holds(b, p))
            assert holds(some(a, b), p) == (holds(a, p) or holds(b, p))
            assert holds(negation(every(a, b)), p) != (holds(a, p) and holds(b, p))


def test_substitution_in_a_condition_moves_the_point() -> None:
    by = {T: expr(K) + 1, K: expr(T) * 2}
    for cond in [some(every(a, negation(b)), b) for a, b in itertools.product(SIMPLE, repeat=2)]:
        for p in GRID:
            moved: Point = {d: evaluate(e, p) for d, e in by.items()}
            assert holds(cond.at(by), p) == holds(cond, moved)


def test_constants_decide_a_condition() -> None:
    assert at_least(expr(T) + 1, T) == ALWAYS
    assert equal(expr(T) + 1, T) == NEVER
    assert every(at_least(T, 0), NEVER) == NEVER
    assert some(at_least(T, 0), ALWAYS) == ALWAYS
    assert every(ALWAYS, at_least(T, 0)) == at_least(T, 0)


def test_an_equation_has_one_form_for_both_spellings() -> None:
    assert equal(T, 3) == equal(3, T)
    assert negation(negation(equal(T, 3))) == equal(T, 3)
    assert negation(at_least(T, 3)) == at_least(2, T)


def test_conditions_print_as_comparisons() -> None:
    assert str(every(at_least(T, 1), equal(T, K))) == "t >= 1 and t == k"
    assert str(negation(equal(T, 1))) == "not t == 1"
    assert (str(ALWAYS), str(NEVER)) == ("True", "False")


def test_the_symbols_of_a_condition_include_extents() -> None:
    assert some(negation(equal(T, T.extent)), at_least(K, 0)).symbols == {T, T.extent, K}


def test_nested_conjunctions_and_disjunctions_are_flat() -> None:
    a, b, c = at_least(T, 1), equal(K, 2), at_least(K, T)
    assert every(a, every(b, c)) == every(every(a, b), c)
    assert some(a, some(b, c)) == some(some(a, b), c)
    assert some(a, a) == a and every(a, a) == a and some(a, NEVER) == a
    assert every(a, some(b, c)) != every(a, b, c)


def test_conditions_on_constants_are_decided_at_once() -> None:
    assert (at_least(3, 2), at_least(2, 2), at_least(1, 2)) == (ALWAYS, ALWAYS, NEVER)
    assert (equal(2, 2), equal(1, 2)) == (ALWAYS, NEVER)
    assert (negation(ALWAYS), negation(NEVER)) == (NEVER, ALWAYS)


def test_nested_conditions_print_in_brackets() -> None:
    a, b, c = at_least(T, 1), equal(T, K), at_least(K, 3)
    assert str(some(a, b)) == "t >= 1 or t == k"
    assert str(every(some(a, b), c)) == "(t >= 1 or t == k) and k >= 3"
    assert str(some(every(a, b), c)) == "(t >= 1 and t == k) or k >= 3"
    assert str(negation(every(a, b))) == "not (t >= 1 and t == k)"


def test_an_equation_keeps_its_sign_if_its_first_term_is_positive() -> None:
    assert str(equal(T, K)) == str(equal(K, T)) == "t == k"
    assert str(equal(expr(T) * 2, expr(K) + 1)) == "2*t == k+1"
