"""Files that only this user can have written: what a cache holds is executed."""

from __future__ import annotations

import os
import stat
import tempfile
import warnings
from functools import cache
from pathlib import Path

OTHERS_MAY_WRITE = stat.S_IWGRP | stat.S_IWOTH


class ForeignError(OSError):
    """A file or directory that somebody else can have written."""


def require_own(path: Path, found: os.stat_result) -> None:
    """Raise ForeignError unless this user owns what was found, and nobody else may change it."""
    if not hasattr(os, "geteuid"):
        return
    if found.st_uid != os.geteuid():
        raise ForeignError(f"{path} belongs to another user (number {found.st_uid})")
    if found.st_mode & OTHERS_MAY_WRITE:
        raise ForeignError(f"other users may write {path} (run `chmod go-w` on it)")


def read(path: Path) -> bytes:
    """The contents of a file of this user.

    Errors: ForeignError; OSError.
    """
    with path.open("rb") as file:
        require_own(path, os.fstat(file.fileno()))
        return file.read()


def write(path: Path, body: bytes) -> None:
    """Write a file at once: a reader sees all of it or none.

    Errors: OSError.
    """
    make(path.parent)
    handle, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(body)
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def make(directory: Path) -> None:
    """Make a directory that only this user may write, with its parents."""
    if not directory.is_dir():
        make(directory.parent)
        directory.mkdir(mode=0o700, exist_ok=True)


@cache
def warn_once(text: str) -> None:
    """Say something about a file, once in a process."""
    warnings.warn(text, stacklevel=4)
