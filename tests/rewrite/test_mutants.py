"""Rules with one thing changed are refused: a sample of all, and how mutants are made."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from ostinato.rewrite.engine.rule import Rule
from ostinato.rewrite.prove.setting import Setting
from ostinato.rewrite.prove.term_meaning import Meaning
from ostinato.rewrite.registry import every_rule
from ostinato.rewrite.terms import Variable, popcount, tr, variables
from ostinato.rewrite.terms.term import read_fact, read_term
from tests.rewrite.equivalents import EQUIVALENTS
from tests.rewrite.mutants import (
    Mutant,
    caught,
    equivalent,
    every_mutant,
    judged,
    mutants,
    part_of,
    read,
)

SLOW = (
    "view/fold-of-moved",
    "view/moved-fold",
    "incremental/fold-beside",
    "incremental/fold-of-folds",
)  # masks of five axes
# Chosen by their text, so that a new rule changes no other rule's part of the sample.
SAMPLE = [m for m in every_mutant() if m.base not in SLOW and part_of(str(m), 0, 256)]

X = Variable("x")


@pytest.mark.parametrize("mutant", SAMPLE, ids=str)
def test_a_changed_rule_is_refused_or_proved_to_hold(mutant: Mutant) -> None:
    assert caught(mutant) != "nobody" or equivalent(mutant), str(mutant)


def changes(name: str) -> set[str]:
    return {mutant.change for mutant in mutants(every_rule()[name])}


def test_facts_are_dropped_and_integers_moved() -> None:
    found = changes("view/move-back")
    assert {"without (= p (+ k 1))", "(= p (+ k 1)) -> (= p (+ k 2))"} <= found


def test_operands_are_exchanged_unless_their_order_is_free() -> None:
    assert "right -> (mm (tr x) (tr y))" in changes("algebra/transpose-product")
    assert 'left -> (map2 "add" (map1 "neg" y) x)' not in changes("algebra/add-neg")


def test_operators_of_the_right_side_are_left_out() -> None:
    assert "right -> x" in changes("incremental/running")


def test_every_mutant_differs_from_its_rule() -> None:
    same = [m for m in every_mutant() if m.rule == every_rule()[m.base]]
    assert same == []


def test_a_mutant_that_nobody_refuses_is_seen() -> None:
    rule = every_rule()["view/transpose-twice"]
    assert caught(Mutant(rule.name, "nothing", rule)) == "nobody"
    assert caught(Mutant(rule.name, "another", replace(rule, right=tr(X)))) != "nobody"


def test_what_a_rule_asserts_is_changed() -> None:
    found = changes("affine/line")
    assert "asserts not (closed r)" in found
    assert 'asserts (scaled r x (map1 "neg" g)) -> (scaled r x g)' in changes("affine/neg-scaled")


def test_stronger_claims_and_other_relations_are_made() -> None:
    assert "claims exact" in changes("algebra/plus-zero")
    assert "claims everywhere" in changes("incremental/suffix-sum")
    assert "(suffix d s) -> (prefix d s)" in changes("incremental/suffix-sum")


def test_every_rule_and_every_asserted_fact_is_changed() -> None:
    assert {m.base for m in every_mutant()} == {rule.name for rule in every_rule()}
    for rule in every_rule():
        assert {f"asserts not {fact}" for fact in rule.also} <= changes(rule.name)


def test_an_equivalent_mutant_has_a_proof_of_a_sentence_or_more() -> None:
    assert all(known.proof.endswith((".", ".)")) for known in EQUIVALENTS)
    assert all(len(known.proof) > 60 for known in EQUIVALENTS)


def test_a_fact_that_follows_from_the_others_may_be_dropped() -> None:
    rule = every_rule()["incremental/weighted-scores"]
    followed = "without (= 1 (rank k))"
    fewer = replace(rule, when=tuple(f for f in rule.when if str(f) != "(= 1 (rank k))"))
    assert equivalent(Mutant(rule.name, followed, fewer))
    needed = every_rule()["view/move-back"]
    fewer = replace(needed, when=tuple(f for f in needed.when if str(f) != "(= p (+ k 1))"))
    assert not equivalent(Mutant(needed.name, "without (= p (+ k 1))", fewer))


def test_what_was_judged_is_not_judged_again(tmp_path: Path) -> None:
    log, mutant = tmp_path / "log", next(mutants(every_rule()["view/transpose-twice"]))
    lines = judged([mutant], log)
    assert judged([mutant], log) == lines == read(log)
    assert len(log.read_text().splitlines()) == 1
    judged([replace(mutant, rule=replace(mutant.rule, right=tr(X)))], log)
    assert len(log.read_text().splitlines()) == 2


def test_a_range_that_may_be_empty_is_no_equivalent_mutant() -> None:
    rule = every_rule()["incremental/range-elsewhere"]
    changed = replace(rule, right=read_term("(at d a (red f m (sl d q x)))"))
    assert not equivalent(Mutant(rule.name, f"right -> {changed.right}", changed))


def with_fact(rule: Rule, before: str, after: str) -> Mutant:
    when = tuple(read_fact(after) if str(fact) == before else fact for fact in rule.when)
    return Mutant(rule.name, f"{before} -> {after}", replace(rule, when=when))


def test_facts_of_numbers_are_compared_for_all_of_them() -> None:
    rule = every_rule()["view/move-back"]
    assert equivalent(with_fact(rule, "(= p (+ k 1))", "(= p (+ 1 k))"))
    assert not equivalent(with_fact(rule, "(= p (+ k 1))", "(= p (+ k 2))"))
    steady = every_rule()["view/read-invariant"]
    (fact,) = (str(fact) for fact in steady.when)
    assert not equivalent(with_fact(steady, fact, fact.replace("= 0", "= 1")))


def test_a_mask_that_is_miscounted_is_refused() -> None:
    rule = every_rule()["view/moved-fold"]
    before, after = "(= u (& (+ ub (>> ub 4)) 15))", "(= u (& (+ ub (>> ub 5)) 15))"
    assert caught(with_fact(rule, before, after)) == "instance"


def test_axes_are_counted_for_every_mask_of_eight() -> None:
    for mask in range(256):
        meaning = Meaning(Setting({}, {"m": mask}, {}), {})
        for fact in popcount(*variables("n m")):
            match fact.tree:
                case ("=", str(name), value):
                    meaning.setting.numbers[name] = meaning.number(value)
                case other:
                    raise AssertionError(f"{other} binds no name")
        assert meaning.setting.numbers["n"] == mask.bit_count()
