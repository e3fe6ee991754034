"""Standard output that is closed, full or no longer read: a line for it, and an exit status."""

from __future__ import annotations

import errno
import json
import os
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO, cast

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


@dataclass
class _Output:
    """A stream that remembers why it could not be written."""

    stream: TextIO
    failure: OSError | None = None

    def write(self, text: str) -> int:
        try:
            return self.stream.write(text)
        except OSError as error:
            self.failure = error
            raise

    def flush(self) -> None:
        try:
            self.stream.flush()
        except OSError as error:
            self.failure = error
            raise

    def __getattr__(self, name: str) -> object:
        return getattr(self.stream, name)


def written(command: Callable[[], None]) -> None:
    """Run a command, and see that all it prints is written; exit status 1 if it is not.

    Nothing is said where the reader has gone, as after ``| head -1``. A character that the
    output's encoding lacks, such as one of a path, is written as its number.
    """
    stream = cast(TextIO | None, sys.stdout)
    if stream is None:
        _end("standard output is closed: send it to a file, or to /dev/null")
        return
    reconfigure = getattr(stream, "reconfigure", None)
    if reconfigure is not None and stream.errors == "strict":
        reconfigure(errors="backslashreplace")
    output = _Output(stream)
    sys.stdout = cast(TextIO, output)
    try:
        try:
            command()
        finally:
            sys.stdout.flush()  # what is left would fail after the last line of Python
    except OSError as error:
        if output.failure is None:
            raise
        _end("" if error.errno == errno.EPIPE else f"standard output: {error.strerror}")
    finally:
        sys.stdout = stream
        if output.failure is not None:  # Python writes what is left once more when it ends
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def _end(fact: str) -> None:
    if fact:
        print(fact, file=sys.stderr)
    sys.exit(1)
