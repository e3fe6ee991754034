from pathlib import Path

import pytest
from rich.console import Console

from ostinato.cli.bench import run_suite, suites
from ostinato.pdg.errors import OptionError


def test_an_installed_package_without_the_repository_says_so(tmp_path: Path) -> None:
    with pytest.raises(OptionError, match="not part of the installed package"):
        suites(tmp_path)


def test_a_misspelt_suite_is_an_error_with_the_nearest_name() -> None:
    with pytest.raises(OptionError, match="Did you mean `reinforce`"):
        run_suite("reinforc", 1, None, Console())


def test_the_suites_are_the_modules_that_measure() -> None:
    assert suites(Path(__file__).parents[2] / "bench") == ["reinforce"]
