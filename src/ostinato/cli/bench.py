"""``ostinato bench``: runs a suite of the repository's bench folder."""

from __future__ import annotations

import importlib
import importlib.util
import sys
from pathlib import Path
from types import ModuleType

from rich.console import Console

from ostinato.cli.load import closest
from ostinato.pdg.errors import OptionError


def run_suite(suite: str, rounds: int, json: Path | None, console: Console) -> None:
    """Measure a suite, print its table, and write it as JSON on request.

    Errors: OptionError outside a checkout of the repository, or for an unknown suite.
    """
    folder = Path(__file__).parents[3] / "bench"
    known = suites(folder)
    if suite not in known:
        raise OptionError(f"There is no suite `{suite}`.", closest(suite, known))
    load_package(folder)
    module = importlib.import_module(f"bench.{suite}")
    report = importlib.import_module("bench.report")
    found = module.measure(rounds)
    report.show(found, console)
    if json is not None:
        report.write_json(found, json)


def suites(folder: Path) -> list[str]:
    """Return the names of the suites: the modules of `folder` that define `measure`."""
    if not (folder / "__init__.py").is_file():
        raise OptionError(
            "The benchmarks are not part of the installed package.",
            "Clone the repository and run `make bench` there.",
        )
    return [path.stem for path in folder.glob("*.py") if "\ndef measure(" in path.read_text()]


def load_package(folder: Path) -> ModuleType:
    """Import `folder` as the package ``bench`` without touching the search path."""
    spec = importlib.util.spec_from_file_location(
        "bench", folder / "__init__.py", submodule_search_locations=[str(folder)]
    )
    assert spec is not None and spec.loader is not None, f"{folder} is no package"
    module = importlib.util.module_from_spec(spec)
    sys.modules["bench"] = module
    spec.loader.exec_module(module)
    return module
