import json
from io import StringIO
from pathlib import Path

import pytest
from rich.console import Console

import ostinato as ot
from ostinato.cli.rules import ablate, list_rules, show_rule, trace
from ostinato.pdg.errors import OptionError
from ostinato.rewrite.registry import every_rule


def prefix_sum() -> ot.Program:
    t = ot.dims("t")
    x = ot.input("x", over=t)
    return ot.Program(total=x[: t + 1].sum(0))


@pytest.fixture
def console() -> Console:
    return Console(file=StringIO(), width=200)


def text(console: Console) -> str:
    assert isinstance(console.file, StringIO)
    return console.file.getvalue()


def test_the_list_names_every_rule(console: Console, tmp_path: Path) -> None:
    list_rules(None, tmp_path / "rules.json", console)
    found = json.loads((tmp_path / "rules.json").read_text())
    assert [rule["name"] for rule in found] == [rule.name for rule in every_rule()]
    assert "vectorize/map2" in text(console)


def test_a_family_can_be_listed_alone(console: Console, tmp_path: Path) -> None:
    list_rules("vectorize", tmp_path / "rules.json", console)
    found = json.loads((tmp_path / "rules.json").read_text())
    assert {rule["name"].partition("/")[0] for rule in found} == {"vectorize"}


def test_one_rule_is_shown_with_its_law_and_proof(console: Console) -> None:
    show_rule("vectorize/map2", None, console)
    rule = every_rule()["vectorize/map2"]
    assert rule.law in text(console) and rule.proof in text(console)


def test_an_unknown_rule_is_an_error(console: Console) -> None:
    with pytest.raises(OptionError, match="no rule or family is called"):
        show_rule("vectorise/map2", None, console)


def test_the_trace_names_the_rules_that_made_the_result(console: Console, tmp_path: Path) -> None:
    trace(prefix_sum(), tmp_path / "trace.json", console)
    found = json.loads((tmp_path / "trace.json").read_text())
    assert any(rule.startswith("incremental/") for rule in found["fired"])
    assert found["price_after_ns"] < found["price_before_ns"]


def test_without_its_family_a_prefix_sum_costs_more(console: Console, tmp_path: Path) -> None:
    ablate(prefix_sum(), ["incremental"], tmp_path / "ablate.json", console)
    (found,) = json.loads((tmp_path / "ablate.json").read_text())["ablations"]
    assert found["without"] == "incremental" and found["ratio"] > 1.0


def test_one_rule_is_shown_with_programs_on_which_it_fires_and_not(console: Console) -> None:
    show_rule("incremental/prefix-sum", None, console)
    assert "fires on\ny[t] = sum(x[:t+1], axes=-2)" in text(console)
    assert "does not fire on" in text(console)
