"""Rules from a file: each is proved, and what is wrong is said with file and line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

import ostinato as ot
from ostinato.cli.app import app
from ostinato.pdg.errors import OptionError

DOUBLE = """import ostinato as ot
from ostinato.rewrite.terms import LHS, add, eq, mul, shape, value, variables
x, y, z = variables("x y z")

double = ot.Rule(
    name="mine/double",
    law="x * 2 = x + x",
    reason="An addition is cheaper than a product.",
    left=mul(x, y),
    right=add(x, x),
    when=(eq(2.0, value(y)), eq(shape(x), shape(LHS))),
)
"""
PROGRAM = """import ostinato as ot

def main() -> ot.Program:
    return ot.Program(y=ot.input("x", over=ot.dims("t")) * 2.0)
"""
EXAMPLES = """
mine = ot.rules.add(double, fires=[ot.Program(y=ot.input("x", over=ot.dims("t")) * 2.0)])
"""
WRONG: dict[str, tuple[str, str]] = {
    "a wrong rule": (
        DOUBLE.replace("2.0", "3.0"),
        "mine.py:5: the rule `mine/double` is wrong: differs at",
    ),
    "a malformed side": (
        DOUBLE.replace("add(x, x)", "add(x, z)"),
        "mine.py:5: the rule `mine/double` is not well formed: the right side, `add(x, z)`",
    ),
    "a misspelt operator": (
        DOUBLE.replace("mul,", "mull,"),
        "mine.py:2: no operator and no relation is called `mull`\n  Did you mean `mul`? ",
    ),
    "a sort that does not fit": (
        DOUBLE.replace("add(x, x)", "add(x, 1)"),
        "mine.py:10: `map2` gets 1, a number, as operand 3, which is a term",
    ),
    "a name that is taken": (
        DOUBLE.replace("mine/double", "view/transpose-twice"),
        "mine.py:5: a rule called `view/transpose-twice` is already there",
    ),
    "a rule in a list": (
        "import ostinato as ot\nfrom ostinato.rewrite.terms import variables\n"
        "x, y = variables('x y')\nmine = [\n    ot.Rule('mine/one', 'x = -x', '', x, y),\n]\n",
        "mine.py:5: the rule `mine/one` is not well formed",
    ),
    "no rules": ("import ostinato as ot\n", "mine.py:1: mine.py declares no rules"),
    "two sets": (
        DOUBLE + "a = ot.rules.without('view')\nb = ot.rules.without('domain')\n",
        "mine.py:1: mine.py makes several sets of rules: `a`, `b`",
    ),
    "no Python": ("import ostinato\nlaw = (\n", "mine.py:2: this is no Python: '(' was never"),
    "a wrong rule that it adds": (
        DOUBLE.replace("2.0", "3.0") + "mine = ot.rules.add(double)\n",
        "mine.py:13: the rule `mine/double` is wrong: differs at",
    ),
}


@pytest.fixture
def mine(tmp_path: Path) -> Path:
    path = tmp_path / "mine.py"
    path.write_text(DOUBLE)
    return path


def asked(*words: str | Path) -> Result:
    return CliRunner().invoke(app, ["rules", *map(str, words)])


def test_rules_of_a_file_are_added_and_proved(mine: Path) -> None:
    found = ot.rules.from_file(mine)
    assert found["mine/double"].is_proved and len(found) == len(ot.rules) + 1
    run = ot.Program(y=ot.input("x", over=ot.dims("t")) * 2.0).compile(rules=found)
    assert run.explain().rules["mine/double"] > 0


def test_a_set_that_a_file_makes_is_taken_with_its_examples(mine: Path) -> None:
    mine.write_text(DOUBLE + EXAMPLES)
    assert ot.rules.from_file(mine)["mine/double"].is_proved
    mine.write_text(DOUBLE + EXAMPLES.replace("* 2.0", "* 3.0"))
    with pytest.raises(OptionError, match="mine.py:14: the rule `mine/double` does not fire on"):
        ot.rules.from_file(mine)


@pytest.mark.parametrize("name", WRONG)
def test_what_is_wrong_is_said_with_file_and_line(name: str, mine: Path) -> None:
    text, words = WRONG[name]
    mine.write_text(text)
    with pytest.raises(OptionError) as caught:
        ot.rules.from_file(mine)
    assert str(caught.value).startswith(words)


def test_a_file_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(OptionError, match="cannot be read: No such file"):
        ot.rules.from_file(tmp_path / "none.py")


def test_rules_of_a_file_are_listed_and_shown(mine: Path, tmp_path: Path) -> None:
    assert asked("list", "--rules", mine, "--json", tmp_path / "l.json").exit_code == 0
    assert json.loads((tmp_path / "l.json").read_text())[-1]["name"] == "mine/double"
    assert "x * 2 = x + x" in asked("show", "mine/double", "--rules", mine).output


def test_programs_are_traced_and_ablated_with_rules_of_a_file(mine: Path, tmp_path: Path) -> None:
    program, out = tmp_path / "program.py", tmp_path / "found.json"
    program.write_text(PROGRAM)
    traced = asked("trace", program, "--rules", mine)
    assert traced.exit_code == 0 and "mine/double" in traced.output
    words = ("--without", "mine", "--rules", mine, "--json", out)
    assert asked("ablate", program, *words).exit_code == 0
    assert json.loads(out.read_text())["ablations"][0]["without"] == "mine"
    assert "mine/double" in asked("stats", program, "--rules", mine).output
    explained = CliRunner().invoke(app, ["explain", str(program), "--rules", str(mine)])
    assert explained.exit_code == 0 and "mine/double" in explained.output


def test_rules_of_a_file_are_decided_one_by_one(mine: Path, tmp_path: Path) -> None:
    out = tmp_path / "found.json"
    assert asked("prove", "--rules", mine, "--json", out).exit_code == 0
    found = json.loads(out.read_text())
    assert (found["rules"], found["proved"]) == (1, 1)
    mine.write_text(DOUBLE.replace("2.0", "3.0"))
    assert asked("prove", "--rules", mine, "--json", out).exit_code == 1
    (record,) = json.loads(out.read_text())["proofs"]
    assert record["status"] == "failed" and "differs at" in record["counterexample"]
