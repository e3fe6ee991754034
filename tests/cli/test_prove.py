"""``ostinato rules prove`` decides rules, and shows where a wrong one is wrong."""

import json
from dataclasses import replace
from io import StringIO
from pathlib import Path

import pytest
from rich.console import Console

from ostinato.cli.prove import prove
from ostinato.pdg.errors import OptionError
from ostinato.rewrite.registry import RuleSet, every_rule


@pytest.fixture
def console() -> Console:
    return Console(file=StringIO(), width=200)


def text(console: Console) -> str:
    assert isinstance(console.file, StringIO)
    return console.file.getvalue()


def test_a_family_is_proved(console: Console, tmp_path: Path) -> None:
    assert prove(["domain"], tmp_path / "proofs.json", console) == 0
    found = json.loads((tmp_path / "proofs.json").read_text())
    names = [rule.name for rule in every_rule().family("domain")]
    assert found["rules"] == found["proved"] == len(names)
    assert found["bounded"] == found["failed"] == 0
    assert [verdict["rule"] for verdict in found["verdicts"]] == names


def test_a_wrong_rule_fails_with_an_example(console: Console, tmp_path: Path) -> None:
    good = every_rule()["algebra/neg-sub"]
    wrong = RuleSet((replace(good, name="mine/neg-sub", right='(map2 "sub" x y)'),))
    assert prove(["mine/neg-sub"], tmp_path / "proofs.json", console, wrong) == 1
    (verdict,) = json.loads((tmp_path / "proofs.json").read_text())["verdicts"]
    assert verdict["outcome"] == "failed" and "differs at" in verdict["why"]
    assert "mine/neg-sub" in text(console)


def test_an_unknown_rule_is_an_error(console: Console) -> None:
    with pytest.raises(OptionError, match="no rule or family is called `vectorise`"):
        prove(["vectorise"], None, console)
