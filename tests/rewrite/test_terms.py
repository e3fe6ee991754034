"""Terms of rules: their names, what they print, and what is read from a text."""

from __future__ import annotations

import pytest

from ostinato.rewrite import terms
from ostinato.rewrite.registry import every_rule
from ostinato.rewrite.relations.sexpr import words
from ostinato.rewrite.terms import (
    NIL,
    Expression,
    Variable,
    axis,
    dom,
    eq,
    is_in,
    mv,
    not_in,
    red,
    sizes,
    sl,
    variables,
)
from ostinato.rewrite.terms.signature import COMPARISONS, HEADS
from ostinato.rewrite.terms.term import Fact, python, python_name, read_fact, read_term

D, H, K, M, N, S, X = variables("d h k m n s x")
NAMES = {name: of for name, of in vars(terms).items() if not name.startswith("_")}
_INFIX = {"+", "-", "*", "&", "|", "<<", ">>", "not-i64"}


def test_every_operator_and_every_relation_has_a_name() -> None:
    for head in HEADS.keys() - _INFIX:
        constructor = NAMES[python_name(head)]
        assert getattr(constructor, "head", head) == head


def test_every_comparison_has_a_name() -> None:
    assert {"eq", "ne", "assign"} <= NAMES.keys() and len(COMPARISONS) == 5


def test_a_term_prints_as_egglog_reads_it_and_shows_as_python() -> None:
    term = red("sum", M & ~(1 << (K - 1)), sl(D, S, mv(K, K + 1, X)))
    assert str(term) == '(red "sum" (& m (not-i64 (<< 1 (- k 1)))) (sl d s (mv k (+ k 1) x)))'
    assert repr(term) == 'red("sum", m & ~(1 << (k - 1)), sl(d, s, mv(k, k + 1, x)))'


def test_integers_stand_for_sizes() -> None:
    assert str(axis(X, K, 1)) == "(axis x k (size 1))"
    assert str(sizes(1, N, then=H)) == "(cons (size 1) (cons n h))"
    assert repr(sizes(1, N)) == "sizes(1, n)" and repr(NIL) == "NIL"


def test_numbers_on_the_left_of_an_order_stay_there() -> None:
    assert [str(fact) for fact in (2 < K, 2 <= K)] == ["(< 2 k)", "(<= 2 k)"]
    assert str(K < M) == "(< k m)"


def test_terms_that_print_alike_are_one() -> None:
    assert {sl(D, S, X), sl(Variable("d"), S, X)} == {sl(D, S, X)}
    assert eq(1, K) != eq(1.0, K)


def test_what_rules_show_makes_them_again() -> None:
    forms: set[Expression | Fact] = set()
    for rule in every_rule():
        forms |= {rule.left, rule.right, *rule.when, *rule.also}
    for form in forms:
        letters = {word: Variable(word) for word in words(form.tree) if word not in NAMES}
        assert eval(repr(form), {**NAMES, **letters}) == form


@pytest.mark.parametrize("text", ["(tr x", "tr x)", "x y", "", "(tr x) x", "(tr  x)", "()", "3"])
def test_a_text_that_is_not_one_term_is_not_read(text: str) -> None:
    with pytest.raises(ValueError):
        read_term(text)


@pytest.mark.parametrize("text", ["x", "", "(prefix d s))", "(= k 1) (= k 2)"])
def test_a_text_that_is_not_one_fact_is_not_read(text: str) -> None:
    with pytest.raises(ValueError):
        read_fact(text)


def test_python_of_a_fact() -> None:
    assert python(Fact("from", (D, S))) == "from_(d, s)"
    assert repr(not_in(D, dom(X))) == "not_in(d, dom(x))" and repr(is_in(D, dom(X)))[:5] == "is_in"
    assert repr(eq(0, M & (1 << K))) == "eq(0, m & (1 << k))"
