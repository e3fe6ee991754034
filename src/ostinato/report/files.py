"""Writing pages and pictures to files."""

from __future__ import annotations

from pathlib import Path

from ostinato.pdg.errors import ArgumentError, to_write


def write(path: str | Path, text: str, what: str) -> None:
    """Write a text; ``what`` says in an error what it is.

    Errors: ArgumentError if the file cannot be written.
    """
    try:
        Path(path).write_text(text, encoding="utf-8")
    except OSError as failure:
        fact = f"{what} cannot be written to `{path}`: {failure.strerror}"
        raise ArgumentError(fact, to_write(failure)) from None
