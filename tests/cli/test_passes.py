"""``ostinato passes`` lists the passes, and prints a program after them."""

from pathlib import Path

import pytest
from typer.testing import CliRunner

from ostinato.cli.app import app
from ostinato.compiler.passes import PASSES
from ostinato.pdg.errors import OptionError

PROGRAM = """
import ostinato as ot
def main(width: int = 4) -> ot.Program:
    t = ot.dims("t")
    x, w = ot.input("x", (width,), over=t), ot.input("w", (width, 8))
    return ot.Program(y=ot.tanh(x @ w))
"""


@pytest.fixture
def place(tmp_path: Path) -> str:
    path = tmp_path / "program.py"
    path.write_text(PROGRAM)
    return str(path)


def shown(*words: str) -> str:
    found = CliRunner().invoke(app, ["passes", *words], catch_exceptions=False)
    assert found.exit_code == 0
    return found.stdout


def test_without_a_file_it_lists_every_pass_in_order() -> None:
    lines = shown().splitlines()
    assert [line.split("  ")[0] or line.split("  ")[1] for line in lines] == [
        each.name for each in PASSES
    ]
    assert all(line.endswith(each.about) for line, each in zip(lines, PASSES, strict=True))
    assert [" optimisation " in line for line in lines] == [p.is_optimisation for p in PASSES]


def test_of_one_pass_it_says_what_it_needs_and_guarantees() -> None:
    found = shown("--after", "storage")
    assert "needs  trees of loops" in found and "is     code stores values" in found
    with pytest.raises(OptionError, match="Did you mean `storage`"):
        shown("--after", "storrage")


def test_a_program_is_shown_after_each_pass(place: str) -> None:
    found = shown(place, "--set", "width=5")
    names = [line[3:-3] for line in found.splitlines() if line.startswith("== ")]
    assert names[0] == "halves" and names[-1] == "LLVM"
    assert "x @ w" in found and "_k < 5" not in found
    assert "== late updates ==\nas after `loops`\n" in found


def test_a_program_is_shown_after_one_pass_and_without_another(place: str) -> None:
    usual, other = (
        shown(place, "--after", "loops", *more) for more in ((), ("--without", "epilogues"))
    )
    assert usual != other and "(broadcast), y" in usual and "(broadcast), y" not in other


def test_a_pass_that_is_not_there_is_refused(place: str) -> None:
    with pytest.raises(OptionError, match="Did you mean `loops`"):
        shown(place, "--after", "loop")
    with pytest.raises(OptionError, match="`cases apart` does not run for this program"):
        shown(place, "--after", "cases apart")
