"""Rules with one thing changed are refused: a sample of all, and how mutants are made."""

from __future__ import annotations

import zlib
from dataclasses import replace

import pytest

from ostinato.rewrite.lang import popcount
from ostinato.rewrite.prove.meaning import Meaning
from ostinato.rewrite.prove.setting import Setting
from ostinato.rewrite.prove.text import parse
from ostinato.rewrite.registry import every_rule
from ostinato.rewrite.rules.history import HISTORY
from ostinato.rewrite.rules.outer import OUTER
from ostinato.rewrite.rules.ramps import RAMPS
from ostinato.rewrite.rules.spread import SPREAD
from tests.rewrite.mutants import EQUIVALENT, Mutant, caught, equivalent, every_mutant, mutants

SLOW = (
    "view/fold-of-moved",
    "view/moved-fold",
    "incremental/fold-beside",
    "incremental/window-elsewhere",
)
# Newer laws: many facts of theirs only say where a law is worth its while, which is not judged yet.
UNJUDGED = frozenset(
    rule.name
    for rules in (HISTORY, OUTER, RAMPS, SPREAD)
    for rule in rules
    if "together-map" not in rule.name
)
# Chosen by their text, so that a new rule changes no other rule's part of the sample.
SAMPLE = [
    m
    for m in every_mutant()
    if m.base not in {*SLOW, *UNJUDGED} and not zlib.crc32(str(m).encode()) % 64
]


@pytest.mark.parametrize("mutant", SAMPLE, ids=str)
def test_a_changed_rule_is_refused_or_known_to_hold(mutant: Mutant) -> None:
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
    assert "right -> x" in changes("incremental/prefix-sum")


def test_every_mutant_differs_from_its_rule() -> None:
    same = [m for m in every_mutant() if m.rule == every_rule()[m.base]]
    assert same == []


def test_a_mutant_that_nobody_refuses_is_seen() -> None:
    rule = every_rule()["view/transpose-twice"]
    assert caught(Mutant(rule.name, "nothing", rule)) == "nobody"
    assert caught(Mutant(rule.name, "another", replace(rule, right="(tr x)"))) != "nobody"


def test_the_mutants_that_hold_are_a_few_kinds_with_a_reason() -> None:
    assert len(EQUIVALENT) < 60 and all(reason for _, _, reason in EQUIVALENT)
    assert sum(bool(equivalent(m)) for m in every_mutant()) < 0.15 * len(every_mutant())


def test_axes_are_counted_for_every_mask_of_eight() -> None:
    for mask in range(256):
        meaning = Meaning(Setting({}, {"m": mask}, {}), {})
        for fact in popcount("n", "m"):
            match parse(fact):
                case ("=", str(name), value):
                    meaning.setting.numbers[name] = meaning.number(value)
                case other:
                    raise AssertionError(f"{other} binds no name")
        assert meaning.setting.numbers["n"] == mask.bit_count()
