"""Seeded rules: wrong ones are refused, with a counterexample; right ones beside them are taken."""

from __future__ import annotations

import pytest

from ostinato.pdg.errors import OptionError
from ostinato.rewrite.registration import registered
from tests.rewrite.wrong.asserted import ASSERTED
from tests.rewrite.wrong.conditional import CONDITIONAL
from tests.rewrite.wrong.emptiness import EMPTINESS
from tests.rewrite.wrong.floats import FLOATS
from tests.rewrite.wrong.integers import INTEGERS
from tests.rewrite.wrong.record import Seeded, asserted, differ, outcome
from tests.rewrite.wrong.right import RIGHT
from tests.rewrite.wrong.shifts import SHIFTS
from tests.rewrite.wrong.sources import EXCLUDED, SOURCES
from tests.rewrite.wrong.types import TYPES

WRONG: dict[str, tuple[Seeded, ...]] = {
    "conditional legality": CONDITIONAL,
    "missing emptiness": EMPTINESS,
    "wrong shift or order": SHIFTS,
    "floating-point identities": FLOATS,
    "integer division of negatives": INTEGERS,
    "types and shapes": TYPES,
    "choices that exclude each other": EXCLUDED,
    "facts merged from two sources": SOURCES,
    "facts asserted beside an equality": ASSERTED,
}
JUDGED = ("is wrong: ", "is decided for", "was neither")  # and not refused for how it is written
EVERY = [seeded for group in WRONG.values() for seeded in group]
UNEQUAL = [seeded for seeded in EVERY if seeded.world and not seeded.also]
UNTRUE = [seeded for seeded in EVERY if seeded.world and seeded.also]


@pytest.mark.parametrize("seeded", EVERY, ids=lambda s: s.name)
def test_a_wrong_rule_is_refused_with_an_example(seeded: Seeded) -> None:
    with pytest.raises(OptionError) as refused:
        registered(seeded.rule())
    fact = str(refused.value).partition(f"the rule `seeded/{seeded.name}` ")[2]
    assert fact.startswith(("is wrong: ",) if seeded.shown else JUDGED)


@pytest.mark.parametrize(
    "seeded", [s for s in EVERY if s.world and not s.also], ids=lambda s: s.name
)
def test_the_sides_of_a_wrong_rule_differ_in_its_example(seeded: Seeded) -> None:
    left, right = outcome(seeded)
    assert differ(left, right, seeded.exact), f"{left} and {right}"


@pytest.mark.parametrize("seeded", UNTRUE, ids=lambda s: s.name)
def test_what_a_wrong_rule_asserts_is_false_in_its_example(seeded: Seeded) -> None:
    assert not all(asserted(seeded))


@pytest.mark.parametrize("seeded", RIGHT, ids=lambda s: s.name)
def test_a_right_rule_beside_them_is_taken(seeded: Seeded) -> None:
    assert registered(seeded.rule()).is_proved


@pytest.mark.parametrize("seeded", RIGHT, ids=lambda s: s.name)
def test_the_sides_of_a_right_rule_agree_in_its_example(seeded: Seeded) -> None:
    left, right = outcome(seeded)
    assert left is not None and not differ(left, right, seeded.exact), f"{left} and {right}"


def test_the_seeded_rules_are_many() -> None:
    names = [seeded.name for seeded in (*EVERY, *RIGHT)]
    assert len(EVERY) >= 120 and len(RIGHT) >= 20 and len({*names}) == len(names)
    assert all(len(group) >= 5 for group in WRONG.values())
