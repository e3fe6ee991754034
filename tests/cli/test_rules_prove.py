"""``ostinato rules prove`` decides rules, and shows where a wrong one is wrong."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner

import ostinato as ot
from ostinato.cli.app import app
from ostinato.pdg.errors import OptionError
from ostinato.rewrite.terms import sub, variables

X, Y = variables("x y")


def test_a_family_is_proved(tmp_path: Path) -> None:
    path = tmp_path / "proofs.json"
    assert CliRunner().invoke(app, ["rules", "prove", "domain", "--json", str(path)]).exit_code == 0
    found = json.loads(path.read_text())
    names = [rule.name for rule in ot.rules.family("domain")]
    assert found["rules"] == found["proved"] == len(names)
    assert found["bounded"] == found["failed"] == found["unproved"] == 0
    assert [proof["name"] for proof in found["proofs"]] == names


def test_every_entry_says_how_it_was_proved_and_what_it_rests_on() -> None:
    (proof,) = ot.rules.prove("incremental/decaying-sum").proofs
    assert (proof.family, proof.status, proof.method) == ("incremental", "proved", "induction")
    assert {"real numbers", "points inside the box", "ranges"} <= set(proof.assumptions)
    assert proof.readings > 0 and proof.seconds > 0 and not proof.counterexample


def test_a_bounded_rule_says_how_far_it_is_decided() -> None:
    found = ot.rules.prove("algebra/fold-twice")
    assert found.bounded == 1 and found.holds
    assert "every mask of 5 axes" in str(found)


def test_a_wrong_rule_fails_with_an_example() -> None:
    good = ot.rules["algebra/neg-sub"]
    wrong = ot.RuleSet((replace(good, name="mine/neg-sub", right=sub(X, Y)),))
    found = wrong.prove()
    assert found.failed == 1 and not found.holds
    assert "differs at" in found.proofs[0].counterexample
    assert "mine/neg-sub: differs at" in str(found)


def test_a_wrong_rule_makes_the_command_fail(monkeypatch: pytest.MonkeyPatch) -> None:
    wrong = replace(ot.rules["algebra/neg-sub"], right=sub(X, Y))
    monkeypatch.setattr("ostinato.cli.rules.every", lambda: ot.RuleSet((wrong,)))
    assert CliRunner().invoke(app, ["rules", "prove"]).exit_code == 1


def test_an_unknown_rule_is_an_error() -> None:
    with pytest.raises(OptionError, match="no rule or family is called `vectorise`"):
        ot.rules.prove("vectorise")
