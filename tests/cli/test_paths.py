"""Paths and names are shown as they are, whatever is in them and wherever it goes."""

import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from rich.console import Console

from ostinato.cli.output import console
from ostinato.cli.resuming import CheckpointFile
from ostinato.cli.run import RunOptions
from ostinato.cli.run_directory import make_another
from ostinato.runtime.run.state import State

ROOT = Path(__file__).parents[2]
PROGRAM = """
import ostinato as ot

def main() -> ot.Experiment:
    i = ot.dims("i")
    x = ot.recurrent("x", over=i)
    x[0], x[i + 1] = 1.0, 0.5 * x
    return ot.Experiment(
        program=ot.Program(x=x), over=i, arguments={"I": 3}, metric="x", steps_per_record=1
    )
"""
NAMES = ("[/x]", "[bold]", ":smile:", "two words", "caf\u00e9", os.fsdecode(b"\xff"))


@pytest.mark.parametrize("encoding", ["utf-8", "ascii"])
@pytest.mark.parametrize("name", NAMES, ids=ascii)
def test_a_run_goes_into_any_directory_and_says_so(
    name: str, encoding: str, tmp_path: Path
) -> None:
    program = tmp_path / "mine.py"
    program.write_text(PROGRAM)
    variables = {"PYTHONPATH": str(ROOT / "src"), "PATH": "", "PYTHONIOENCODING": encoding}
    run = ["-c", "from ostinato.cli import main; main()", "run", str(program), "--out", name]
    found = subprocess.run(
        [sys.executable, *run], env=variables, cwd=tmp_path, capture_output=True, check=False
    )
    assert found.returncode == 0, found.stderr
    assert (tmp_path / name / "metrics.csv").is_file()
    shown = name.encode(encoding, "backslashreplace").decode(encoding)
    assert f"run directory: {shown}\n" in found.stdout.decode(encoding)


def test_a_console_shows_text_as_it_is(capsys: pytest.CaptureFixture[str]) -> None:
    for text in ("[red]x[/red]", "[/x]", ":smile:"):
        console().print(text)
    assert isinstance(console(), Console)
    assert capsys.readouterr().out.splitlines() == ["[red]x[/red]", "[/x]", ":smile:"]


def test_a_command_to_go_on_with_is_one_of_a_shell() -> None:
    trained = {"algorithm": "ppo", "environment": "gymnasium:My Game-v0"}
    for options, words in (
        (RunOptions(place="my file.py:main"), ["run", "my file.py:main"]),
        (RunOptions(place="", trained=trained), ["train", "ppo", "gymnasium:My Game-v0"]),
    ):
        assert shlex.split(options.command) == words


def test_runs_that_begin_within_one_second_have_a_directory_each(tmp_path: Path) -> None:
    made = [make_another(tmp_path / "runs" / "ppo") for _ in range(3)]
    assert [each.name for each in made] == ["ppo", "ppo-2", "ppo-3"]
    assert all((each / "kernels").is_dir() for each in made)


def test_the_rows_before_a_checkpoint_are_on_the_disk_before_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A machine that stops would else leave a checkpoint of rows that are not there."""
    order: list[str] = []
    flush = os.fsync

    def watched(handle: int) -> None:
        order.append(Path(os.readlink(f"/proc/self/fd/{handle}")).name)
        flush(handle)

    for name in ("metrics.csv", "config.json"):
        (tmp_path / name).write_text("")
    monkeypatch.setattr(os, "fsync", watched)
    state = State({}, over="i", step=1, seed=0, program="", arguments="")
    CheckpointFile(tmp_path, 1).keep(state, (), None)
    assert order[:3] == ["config.json", "metrics.csv", ".checkpoint.safetensors.new"]
