"""Results for scripts: a JSON file, or standard output, which is then for nothing else."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from rich.console import Console

from ostinato.report.files import write

STANDARD = Path("-")


def console(stderr: bool = False) -> Console:
    """Where text for people goes, as it is: names and paths may look like marks of style."""
    return Console(stderr=stderr, markup=False, emoji=False, highlight=False)


def console_beside(path: Path | None) -> Console:
    """Where text for people goes: to standard error where the result is on standard output."""
    return console(stderr=path == STANDARD)


def write_json(path: Path | None, found: object) -> None:
    """Write a result to a file, or to standard output for ``-``; nothing without a path."""
    write_text(path, json.dumps(found, indent=2) + "\n")


def write_text(path: Path | None, text: str) -> None:
    """The same for a result that is JSON already."""
    if path == STANDARD:
        sys.stdout.write(text)
    elif path is not None:
        write(path, text, "the result")
