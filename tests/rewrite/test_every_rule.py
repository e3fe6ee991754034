"""Every rule of the table: it fires where it must, only there, and all it claims is true."""

from __future__ import annotations

import random
import zlib
from pathlib import Path

import pytest

from ostinato.rewrite.engine.rule import Rule
from ostinato.rewrite.registry import every_rule
from tests.rewrite.harness import run, wrong_terms
from tests.rewrite.instances import every_instance, where_fires, where_idle
from tests.rewrite.instances.instance import Instance, Sizes

ROOT = Path(__file__).parent.parent.parent
RULES = tuple(every_rule())
FIRES = [(r, i) for r in RULES for i in where_fires(r.name)]
IDLE = [(r, i) for r in RULES for i in where_idle(r.name)]


def named(value: object) -> str:
    return value.name.replace(" ", "-") if isinstance(value, Rule | Instance) else str(value)


def together(rule: Rule, instance: Instance) -> list[Rule]:
    """The rule and those that must run beside it."""
    return [rule, *(every_rule()[name] for name in instance.beside if name != rule.name)]


def chance(*of: Rule | Instance) -> random.Random:
    """The same numbers in every run, and others for another rule or instance."""
    return random.Random(zlib.crc32(" ".join(map(named, of)).encode()))


def drawn(numbers: random.Random, least: int) -> Sizes:
    """An axis of size 1 repeats: it can switch a law on, as ``sum(x)`` is ``x`` there, or off."""
    return Sizes(*(numbers.randint(least, 4) for _ in Sizes._fields))


def test_every_rule_has_instances_where_it_fires_and_where_it_must_not() -> None:
    assert not [rule.name for rule in RULES if not where_fires(rule.name)]
    assert not [rule.name for rule in RULES if not where_idle(rule.name)]


def test_every_instance_is_about_rules_that_exist() -> None:
    known = {rule.name for rule in RULES}
    assert {name for i in every_instance() for name in (*i.fires, *i.idle, *i.beside)} <= known


@pytest.mark.parametrize(("rule", "instance"), FIRES, ids=named)
def test_the_rule_fires_and_all_terms_it_calls_equal_are_equal(
    rule: Rule, instance: Instance
) -> None:
    numbers, rules = chance(rule, instance), together(rule, instance)
    inside = any(each.valid == "inside the box" for each in rules)
    for least in (2, 1):
        done = run(rules, instance.build(drawn(numbers, least)))
        assert least == 1 or done.matches.get(rule.name, 0) > 0
        extents = {"B": numbers.randint(1, 4), "T": numbers.randint(2, 4), "I": 2}
        assert wrong_terms(done, extents, inside, (least,)) > 0


@pytest.mark.parametrize(("rule", "instance"), IDLE, ids=named)
def test_the_rule_does_not_fire_where_its_facts_are_false(rule: Rule, instance: Instance) -> None:
    done = run(together(rule, instance), instance.build(drawn(chance(rule, instance), 2)))
    assert done.matches.get(rule.name, 0) == 0


def test_every_rule_has_a_proof_or_says_why_not() -> None:
    for rule in RULES:
        file = ROOT / rule.proof
        named = file.is_file() and f'"{rule.name}"' in file.read_text()
        assert named or rule.proof.startswith("unproved: "), rule.proof


def test_the_rules_without_a_proof_are_few_and_listed() -> None:
    unproved = [f"{r.name}: {r.proof}" for r in RULES if r.proof.startswith("unproved: ")]
    print(*unproved, sep="\n")
    assert len(unproved) <= len(RULES) // 20


# A sixth, by their names, so that a new instance changes no other one's part of the sample.
SOME = [i for i in every_instance() if not zlib.crc32(named(i).encode()) % 6]


@pytest.mark.parametrize("instance", SOME, ids=named)
def test_all_rules_together_call_equal_only_what_is(instance: Instance) -> None:
    done, numbers = run(RULES, instance.build(Sizes(2, 3, 2)), rounds=8), chance(instance)
    for _ in range(2):
        extents = {"B": numbers.randint(1, 3), "T": numbers.randint(3, 5), "I": 2}
        assert wrong_terms(done, extents, True, (1,)) > 0


@pytest.mark.parametrize("instance", SOME, ids=named)
def test_rules_valid_everywhere_hold_outside_the_box_together(instance: Instance) -> None:
    rules = [rule for rule in RULES if rule.valid == "everywhere"]
    done = run(rules, instance.build(Sizes(2, 3, 2)), rounds=8)
    assert wrong_terms(done, {"B": 2, "T": 4, "I": 2}, False, (2,)) > 0
