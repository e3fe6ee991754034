from pathlib import Path

import pytest
from rich.console import Console

from ostinato.cli.bench import load_command, run_suite
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


def test_comparing_a_file_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(OptionError, match="No such file"):
        run_suite("compare", {"json": tmp_path / "none.json"}, Console())
