import json
from io import StringIO
from pathlib import Path

import pytest
from rich.console import Console
from typer.testing import CliRunner

from ostinato.cli.app import app
from ostinato.cli.rules import hints_from, list_rules, show_rule
from ostinato.pdg.errors import OptionError
from ostinato.rewrite.registry import every_rule


@pytest.fixture
def console() -> Console:
    return Console(file=StringIO(), width=200, markup=False)


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


def test_one_rule_is_shown_with_programs_on_which_it_fires_and_not(console: Console) -> None:
    show_rule("incremental/running", None, console)
    assert "fires on\ny[t]  = sum(x[:t+1], axes=-2) " in text(console)
    assert "does not fire on" in text(console)


FILE = """
import ostinato as ot

def main(scale: float = 2.0) -> ot.Program:
    t = ot.dims("t")
    x = ot.input("x", over=t)
    return ot.Program(total=x[: t + 1].sum(0) * scale)
"""


@pytest.fixture
def file(tmp_path: Path) -> str:
    path = tmp_path / "prefix.py"
    path.write_text(FILE)
    return str(path)


def asked(*words: str) -> int:
    """The exit code of ``ostinato rules`` with these words."""
    found = CliRunner().invoke(app, ["rules", *words])
    return found.exit_code


def test_the_trace_names_the_rules_of_every_kernel(file: str, tmp_path: Path) -> None:
    assert asked("trace", file, "--hint", "T=300", "--json", str(tmp_path / "trace.json")) == 0
    found = json.loads((tmp_path / "trace.json").read_text())
    kernels = found["kernels"]
    saved = {rule["rule"]: rule["saved_ns"] for kernel in kernels for rule in kernel["rules"]}
    assert saved["incremental/running"] > 0 and found["extents"] == {"T": 300}
    assert 0 < kernels[0]["predicted_ns"] <= found["predicted_ns"] < found["written_ns"]


def test_families_can_be_traced(file: str, tmp_path: Path) -> None:
    assert asked("trace", file, "--families", "--json", str(tmp_path / "trace.json")) == 0
    kernels = json.loads((tmp_path / "trace.json").read_text())["kernels"]
    assert "incremental" in [rule["rule"] for kernel in kernels for rule in kernel["rules"]]


def test_without_its_family_a_prefix_sum_costs_more(file: str, tmp_path: Path) -> None:
    path = tmp_path / "ablate.json"
    assert (
        asked("ablate", file, "--without", "incremental", "--hint", "T=1000", "--json", str(path))
        == 0
    )
    (found,) = json.loads(path.read_text())["ablations"]
    assert found["without"] == "incremental" and found["ratio"] > 1.0


def test_the_statistics_count_nodes_rounds_and_matches(file: str, tmp_path: Path) -> None:
    assert asked("stats", file, "--set", "scale=3.0", "--json", str(tmp_path / "stats.json")) == 0
    found = json.loads((tmp_path / "stats.json").read_text())
    assert found["matches"]["incremental/running"] == 1
    assert 0 < found["classes"] < found["enodes"] < found["rows"][-1]
    assert {"load", "saturate", "extract"} <= found["seconds"].keys()


@pytest.mark.parametrize("command", ["list", "show", "trace", "ablate", "stats", "prove"])
def test_every_command_has_help(command: str) -> None:
    found = CliRunner().invoke(app, ["rules", command, "--help"])
    assert found.exit_code == 0 and "--json" in found.output


@pytest.mark.parametrize("hint", ["T", "T=", "T=x", "T=0"])
def test_a_hint_that_is_no_extent_is_refused(hint: str) -> None:
    with pytest.raises(OptionError, match="Write --hint T=500"):
        hints_from([hint])


def test_a_hint_is_given_once() -> None:
    with pytest.raises(OptionError, match="`--hint` gives `T` twice.\n  Write one --hint T=SIZE."):
        hints_from(["T=3", "T=4"])


def test_a_question_about_a_file_that_is_not_there_fails(tmp_path: Path) -> None:
    assert asked("stats", str(tmp_path / "missing.py")) != 0


def test_the_command_that_calls_it_is_no_line_of_a_program() -> None:
    failure = CliRunner().invoke(app, ["rules", "show", "mine/none"]).exception
    assert isinstance(failure, OptionError) and failure.where == ""
