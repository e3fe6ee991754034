"""Sets of rules: choosing, adding, and errors that name the closest rule."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ostinato.pdg.errors import OptionError
from ostinato.rewrite.engine.language import rule_text
from ostinato.rewrite.engine.rule import Rule
from ostinato.rewrite.optimize import RewriteOptions, optimize
from ostinato.rewrite.registry import every_rule
from ostinato.rewrite.terms import LHS, add, eq, map1, map2, mul, shape, value, variables
from ostinato.rewrite.terms.term import read_fact, read_term
from tests.rewrite import programs

F, X, Y = variables("f x y")


def test_a_family_is_left_out() -> None:
    left = every_rule().without("vectorize")
    assert "vectorize" not in left.families
    assert len(left) + len(every_rule().family("vectorize")) == len(every_rule())


def test_one_rule_is_left_out() -> None:
    assert len(every_rule().without("view/transpose-twice")) == len(every_rule()) - 1


def test_an_unknown_name_is_refused_with_the_closest_one() -> None:
    with pytest.raises(OptionError, match="no rule or family is called `vectorise`"):
        every_rule().without("vectorise")


def test_a_rule_is_no_family_and_a_family_is_no_rule() -> None:
    text = "`view` is a family of rules, and no rule\n  Name one of its rules: view/"
    with pytest.raises(OptionError, match=text):
        every_rule()["view"]
    text = "`view/transpose-twice` is a rule, and no family\n  Name the family: view."
    with pytest.raises(OptionError, match=text):
        every_rule().family("view/transpose-twice")


def test_only_the_named_rules_are_kept() -> None:
    kept = every_rule().only("matmul", "view/transpose-twice")
    assert set(kept.families) == {"matmul", "view"} and len(kept.family("view")) == 1
    with pytest.raises(OptionError, match="no rule or family is called `matmull`"):
        every_rule().only("matmull")


def test_exact_rules_are_those_that_keep_every_bit() -> None:
    kept = every_rule().exact()
    assert {rule.exact for rule in kept} == {"exact"}
    assert "algebra/plus-zero" not in [rule.name for rule in kept]


def test_a_name_is_taken_once() -> None:
    with pytest.raises(OptionError, match="already there"):
        every_rule().add(every_rule()["view/transpose-twice"])


def test_an_added_rule_fires() -> None:
    facts = (eq(2.0, value(Y)), eq(shape(X), shape(LHS)))
    double = Rule("mine/double", "x * 2 = x + x", "", mul(X, Y), add(X, X), facts)
    result = optimize(programs.chain(), RewriteOptions(rules=every_rule().add(double)))
    assert result.report.rules["mine/double"] > 0


def test_a_rule_that_is_not_well_formed_is_named() -> None:
    broken = Rule("mine/broken", "l", "", map1(F, X), map1("neg", Y))
    with pytest.raises(OptionError, match="`mine/broken` is not well formed"):
        optimize(programs.chain(), RewriteOptions(rules=every_rule().add(broken)))


def test_what_stands_twice_in_a_rule_is_made_once() -> None:
    twice = map2(F, map1("neg", X), map1("neg", X))
    rule = replace(every_rule().rules[0], left=map2(F, X, Y), right=twice, when=(), also=())
    text = rule_text(rule)
    assert text.count('(map1 "neg" x)') == 1 and "(map2 f made0 made0)" in text
    assert max(len(rule_text(rule)) for rule in every_rule()) < 8_000  # one had 33,000, and 0.5 GB


def test_every_expression_of_a_rule_has_its_only_spelling() -> None:
    """Certificates that name a rule of another spelling do not hold."""
    for rule in every_rule():
        for side in (rule.left, rule.right):
            assert read_term(str(side)) == side
        for fact in (*rule.when, *rule.also):
            assert read_fact(str(fact)) == fact
