from importlib import import_module
from io import StringIO
from pathlib import Path

import pytest
from rich.console import Console

from ostinato.cli.bench import FOLDER, load_command, run_suite
from ostinato.pdg.errors import OptionError


def test_an_installed_package_without_the_repository_says_so(tmp_path: Path) -> None:
    with pytest.raises(OptionError, match="not part of the installed package"):
        load_command(tmp_path)


def test_a_misspelt_suite_is_an_error_with_the_nearest_name() -> None:
    with pytest.raises(OptionError, match="Did you mean `reinforce`"):
        run_suite("reinforc", {}, Console())


def test_an_unknown_size_is_an_error_of_the_command() -> None:
    with pytest.raises(OptionError, match="no case of ppo has envs=5"):
        run_suite("ppo", {"sizes": ("envs=5",)}, Console())


def test_a_size_without_a_value_and_a_file_without_a_report_are_named(tmp_path: Path) -> None:
    with pytest.raises(OptionError, match="`--sizes envs` has no value: write --sizes envs=A,B"):
        run_suite("ppo", {"sizes": ("envs",)}, Console())
    other = tmp_path / "other.json"
    other.write_text("x = 1")
    for suite, option in (("ppo", "source"), ("compare", "json")):
        with pytest.raises(OptionError, match="other.json is no report: Expecting value"):
            run_suite(suite, {option: other}, Console())


def test_comparing_a_file_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(OptionError, match="No such file"):
        run_suite("compare", {"json": tmp_path / "none.json"}, Console())


def test_a_refused_program_is_shown_and_the_command_fails(tmp_path: Path) -> None:
    command = load_command(FOLDER)
    rows = import_module("bench.harness.rows")
    refused = rows.Refusal("ppo", "p", "jax", {"envs": 4}, "no [/form] fits")
    stored, text = tmp_path / "ppo.json", StringIO()
    machine = {"processor": "abacus", "cores": 2, "memory_bytes": 2**30}
    for found, fine in (((refused,), False), ((), True)):
        stored.write_text(rows.written(rows.Report(machine, (), found)))
        assert run_suite("ppo", {"source": stored}, Console(file=text, width=150)) is fine
    assert "refused: no [/form] fits" in text.getvalue() and command.known()
