import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from ostinato.cli.program_file import load_experiment, load_function
from ostinato.cli.settings import read_settings
from ostinato.pdg.errors import OptionError

TWO = """
from ostinato.compiler.experiment import Experiment
def shape(n: int) -> int: return n
def cartpole(episodes: int = 64, rate: float = 0.1, fast: bool = False) -> Experiment: ...
"""


@pytest.fixture
def program(tmp_path: Path) -> Callable[[str], str]:
    def write(text: str) -> str:
        path = tmp_path / "program.py"
        path.write_text(text)
        return str(path)

    return write


def test_the_only_function_that_returns_an_experiment_is_found(
    program: Callable[[str], str],
) -> None:
    assert load_function(program(TWO)).__name__ == "cartpole"


NAMED = """
from __future__ import annotations
from typing import TYPE_CHECKING
from ostinato import Program, rl
from ostinato.compiler.experiment import Experiment
if TYPE_CHECKING:
    from nowhere import Unknown
def other(x: Unknown) -> Unknown: ...
def built(n: int = 3, how: Unknown = None) -> {}: ...
"""


@pytest.mark.parametrize("result", ["Experiment", "rl.Training", "Program"])
def test_what_is_an_experiment_or_a_program_is_found_beside_names_for_type_checkers(
    program: Callable[[str], str], result: str
) -> None:
    found = load_function(program(NAMED.format(result)))
    assert found.__name__ == "built"
    assert read_settings(found, ["n=4"]) == {"n": 4}
    with pytest.raises(OptionError, match="`how` is no setting of `built`"):
        read_settings(found, ["how=4"])


def test_an_experiment_comes_before_a_program(program: Callable[[str], str]) -> None:
    more = "from ostinato import Program\ndef part() -> Program: ...\n"
    assert load_function(program(TWO + more)).__name__ == "cartpole"


def test_main_comes_first(program: Callable[[str], str]) -> None:
    assert load_function(program(TWO + "def main(): ...\n")).__name__ == "main"


def test_a_misspelt_function_is_an_error_with_the_nearest_name(
    program: Callable[[str], str],
) -> None:
    with pytest.raises(OptionError, match="Did you mean `cartpole`"):
        load_function(program(TWO) + ":cartpol")


def test_two_candidates_are_an_error_that_names_both(program: Callable[[str], str]) -> None:
    more = "def other() -> Experiment: ...\n"
    with pytest.raises(OptionError, match="2 functions.*\n.*shape, cartpole, other"):
        load_function(program(TWO + more))


def test_a_file_that_is_no_python_is_an_error_with_its_line(
    program: Callable[[str], str],
) -> None:
    with pytest.raises(OptionError, match=r"program.py:2: .* was never closed\.\n"):
        load_function(program("one = 1\ntwo = (\n"))


def test_a_missing_file_is_an_error() -> None:
    with pytest.raises(OptionError, match="`nowhere.py` does not exist"):
        load_function("nowhere.py")


def test_a_folder_is_no_file(tmp_path: Path) -> None:
    with pytest.raises(OptionError, match=f"`{tmp_path}` is no file.\n  Give the path of a Python"):
        load_function(str(tmp_path))


RECORDED = """
import ostinato as ot
def main() -> ot.Experiment:
    i, t = ot.dims("i t")
    program = ot.Program(loss=1.0 * i, norm=2.0 * i, other=1.0 * t)
    stop = ot.Solved(at_least=3.0, metric="norm")
    return ot.Experiment(
        program=program, over=i, arguments={"I": 3, "T": 2}, steps_per_record=1, stop=stop, METRIC
    )
"""


@pytest.mark.parametrize(
    ("metric", "stopped", "name"),
    [
        ("", "norm", "episode_return"),
        ('metric="loss"', "mean", "mean"),
        ('metric="other"', "norm", "other"),
    ],
)
def test_a_metric_that_no_record_has_is_an_error(
    program: Callable[[str], str], metric: str, stopped: str, name: str
) -> None:
    text = RECORDED.replace("METRIC", metric)
    place = program(text.replace('"norm")', f'"{stopped}")'))
    with pytest.raises(OptionError) as caught:
        load_experiment(place, [])
    assert str(caught.value) == (
        f"{place} records `{name}`, which is no output over `i` of its program.\n"
        "  Give its Experiment a `metric`: loss, norm."
    )


def test_a_function_that_returns_something_else_is_an_error(
    program: Callable[[str], str],
) -> None:
    with pytest.raises(OptionError, match="returns a int, not an Experiment"):
        load_experiment(program("def main(): return 3\n"), [])


def test_a_file_that_was_changed_at_once_is_read_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    file = tmp_path / "changing.py"
    for number in (1, 2):  # of one length, within the second that Python tells files apart by
        file.write_text(f"def main() -> int:\n    return {number}\n")
        assert load_function(str(file))() == number


def test_a_file_of_another_kind_is_refused(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("x = 1\n")
    with pytest.raises(
        OptionError, match=r"notes.txt is not a Python file\.\n  Give the path of a "
    ):
        load_function(str(tmp_path / "notes.txt"))
