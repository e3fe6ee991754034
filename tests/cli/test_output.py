"""Standard output that cannot be written is one line of an error, and an exit status."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TextIO

import pytest

ROOT = Path(__file__).parents[2]
MAIN = "from ostinato.cli import main; main()"
COMMANDS = (["--version"], ["--help"], ["rules", "list"], ["rules", "list", "--json", "-"])


def ostinato(
    arguments: list[str], stdout: TextIO | None = None, begin: Callable[[], None] | None = None
) -> tuple[int, str]:
    """The exit status of a command, and what it says on standard error."""
    environment = {"PYTHONPATH": str(ROOT / "src"), "PATH": "", "NO_COLOR": "1", "COLUMNS": "100"}
    command = [sys.executable, "-c", MAIN, *arguments]
    finished = subprocess.run(
        command,
        env=environment,
        stdout=stdout,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=begin,
    )
    return finished.returncode, finished.stderr


@pytest.mark.parametrize("arguments", COMMANDS, ids=" ".join)
def test_a_full_output_is_one_line(arguments: list[str]) -> None:
    with Path("/dev/full").open("w") as full:
        status, said = ostinato(arguments, stdout=full)
    assert status == 1
    assert said.endswith("standard output: No space left on device\n")
    assert "Error" not in said


@pytest.mark.parametrize("arguments", COMMANDS, ids=" ".join)
def test_nothing_is_said_where_the_reader_has_gone(arguments: list[str]) -> None:
    read, write = os.pipe()
    os.close(read)
    with os.fdopen(write, "w") as pipe:
        status, said = ostinato(arguments, stdout=pipe)
    assert status == 1
    assert "Error" not in said and "standard output" not in said


def test_a_closed_output_is_one_line() -> None:
    status, said = ostinato(["rules", "list"], begin=lambda: os.close(1))
    assert status == 1
    assert said == "standard output is closed: send it to a file, or to /dev/null\n"


def test_another_error_of_the_system_is_none_of_the_output(tmp_path: Path) -> None:
    program = tmp_path / "mine.py"
    program.write_text("def main():\n    open('/missing/file')\n")
    status, said = ostinato(["explain", str(program)])
    assert status == 1
    assert "No such file or directory: '/missing/file'" in said
