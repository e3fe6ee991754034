"""Writing pages and pictures to files."""

from __future__ import annotations

from pathlib import Path
from typing import cast

from ostinato.pdg.errors import ArgumentError, to_write
from ostinato.provenance.place import place


def write(path: str | Path, text: str, what: str) -> None:
    """Write a text; ``what`` says in an error what it is.

    Errors: ArgumentError at the user's line if the file cannot be written, or the path is none.
    """
    if not isinstance(cast(object, path), str | Path):
        raise ArgumentError(f"{what} cannot be written to {path!r}", "Give a path.", place())
    try:
        Path(path).write_text(text, encoding="utf-8")
    except OSError as failure:
        fact = f"{what} cannot be written to `{path}`: {failure.strerror}"
        raise ArgumentError(fact, to_write(failure), place()) from None
