"""The overview of the proofs lists every rule as it is now."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from proofs.overview import method, methods_in, overview, row

from ostinato.rewrite.engine.rule import Rule
from ostinato.rewrite.prove.prover import prove
from ostinato.rewrite.registry import every_rule

README = Path(__file__).parents[2] / "proofs" / "README.md"


def decided(known: dict[str, str], rule: Rule, text: str) -> str:
    """What the table says of a rule that it has as it is, or else what the prover says."""
    found = known.get(rule.name)
    return found if found and row(rule, found) in text else method(prove(rule))


def test_the_overview_is_up_to_date(request: pytest.FixtureRequest) -> None:
    text = README.read_text(encoding="utf-8")
    known = methods_in(text)
    if request.config.getoption("--update-golden"):
        known = {rule.name: decided(known, rule, text) for rule in every_rule()}
        README.write_text(overview(every_rule(), known), encoding="utf-8")
    assert known.keys() == {rule.name for rule in every_rule()}
    assert README.read_text(encoding="utf-8") == overview(every_rule(), known)


def test_nine_rules_in_ten_are_proved_for_all_sizes() -> None:
    rules = every_rule()
    assert sum(rule.is_proved for rule in rules) >= 0.9 * len(rules)


def test_rules_that_are_not_proved_are_decided_for_every_mask_or_order_of_some_axes() -> None:
    others = [rule for rule in every_rule() if not rule.is_proved]
    whys = ("masks of axes", "permutations by tables")
    assert [r.proof for r in others if not any(why in r.proof for why in whys)] == []
    for rule in others:
        (file,) = re.findall(r"proofs/\w+\.py", rule.proof)
        bounded = (README.parents[1] / file).read_text(encoding="utf-8").partition("BOUNDED = ")[2]
        assert f'"{rule.name}"' in bounded.partition(")")[0], f"{file} does not decide {rule.name}"
