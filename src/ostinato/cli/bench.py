"""``ostinato bench``: runs a suite of the repository's bench folder, or compares its history."""

from __future__ import annotations

import importlib
import importlib.util
import sys
from collections.abc import Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

from rich.console import Console

from ostinato.cli.settings import closest
from ostinato.pdg.errors import OptionError

FOLDER = Path(__file__).parents[3] / "bench"
COMPARE = "compare"


def run_suite(suite: str, options: Mapping[str, Any], console: Console) -> bool:
    """Measure a suite, show its table and write what the options ask for; or compare the history.

    Returns whether all programs gave rows, or when comparing, whether nothing got worse.
    Errors: OptionError outside a checkout of the repository, for an unknown suite or size, for a
    file that is not there, and for a plot without matplotlib.
    """
    command = load_command(FOLDER)
    known = [*command.known(), COMPARE]
    if suite not in known:
        raise OptionError(f"There is no suite `{suite}`.", closest(suite, known))
    try:
        if suite == COMPARE:
            return bool(command.compare(options["json"], console))
        return not command.run(suite, command.Request(**options), console).refused
    except (ValueError, FileNotFoundError) as error:
        raise OptionError(f"{error}.", "See bench/README.md.") from error
    except ModuleNotFoundError as error:
        if error.name != "matplotlib":
            raise
        raise OptionError(
            "A plot needs matplotlib.", "Install it: pip install 'ostinato[plot]'."
        ) from error


def load_command(folder: Path) -> ModuleType:
    """Import ``bench.harness.command`` from `folder` without touching the search path."""
    if not (folder / "__init__.py").is_file():
        raise OptionError(
            "The benchmarks are not part of the installed package.",
            "Clone the repository and run `make bench` there.",
        )
    spec = importlib.util.spec_from_file_location(
        "bench", folder / "__init__.py", submodule_search_locations=[str(folder)]
    )
    assert spec is not None and spec.loader is not None, f"{folder} is no package"
    module = importlib.util.module_from_spec(spec)
    sys.modules["bench"] = module
    spec.loader.exec_module(module)
    return importlib.import_module("bench.harness.command")
