"""The cache directory: where it is, whether it can be trusted, and how large it may become.

The directory that a user chooses may hold files of others: unless it is new, empty or was made by
this package, a directory in it is used. A file in it says that it was made here.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Generator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from pathlib import Path

from ostinato.pdg.errors import OptionError
from ostinato.runtime.disk import trust

VARIABLE = "OSTINATO_CACHE_DIR"
SIZE_VARIABLE = "OSTINATO_CACHE_SIZE"
DEFAULT_SIZE = "1G"
MARK = ".ostinato-cache"
BESIDE = "ostinato-cache"  # in a directory that others use too
_OLDER = re.compile("[0-9a-f]{2}|objects|checks|proofs|profiles|\\.trimmed")  # without a mark
_elsewhere: ContextVar[str] = ContextVar("elsewhere", default="")
_UNITS = {"": 1, "K": 2**10, "M": 2**20, "G": 2**30, "T": 2**40}


def root() -> Path:
    """The cache directory: ``$OSTINATO_CACHE_DIR``, or ``~/.cache/ostinato``, without links.

    Where that holds something else already it is ``ostinato-cache`` in it.
    """
    chosen = diverted() or os.environ.get(VARIABLE)
    place = Path(chosen) if chosen else Path.home() / ".cache" / "ostinato"
    return _found(os.path.abspath(place))


@contextmanager
def elsewhere(place: Path) -> Generator[None]:
    """Use another directory inside, in this thread: what the cache holds is not looked at."""
    before = _elsewhere.set(str(place))
    try:
        yield
    finally:
        _elsewhere.reset(before)


def diverted() -> str:
    """The directory that `elsewhere` chose for this thread; empty where it did not."""
    return _elsewhere.get()


@cache
def _found(chosen: str) -> Path:
    place = Path(os.path.realpath(chosen))
    if is_ours(place):
        return place
    return place / BESIDE


def is_ours(place: Path) -> bool:
    """Whether a directory has the mark, or nothing else than what earlier versions made."""
    try:
        names = os.listdir(place)
    except OSError:  # it is to be made, or whoever uses it will be told what is wrong with it
        return True
    return MARK in names or all(_OLDER.fullmatch(name) for name in names)


def require_root() -> Path:
    """The cache directory, if it is this user's or can become so.

    Errors: ForeignRootError.
    """
    place = root()
    try:
        trust.require_own(place, place.lstat())
        _require_way(place)
    except trust.ForeignError as failure:
        raise trust.ForeignRootError(str(failure)) from None
    except (FileNotFoundError, NotADirectoryError):
        _require_way(place)  # it can become so
    return place


@cache
def _require_way(place: Path) -> None:
    trust.require_way(place)


def require_place(place: Path) -> Path:
    """A directory of the cache, if it and all around it are this user's alone.

    Errors: ForeignError; FileNotFoundError.
    """
    around = require_root()
    for part in place.relative_to(around).parts:
        around /= part
        trust.require_own(around, around.lstat())
    return place


def ready_root() -> Path:
    """The cache directory, made and marked.

    Errors: ForeignError; OSError.
    """
    place = require_root()
    mark = place / MARK
    try:
        is_marked = stat.S_ISREG(mark.lstat().st_mode)
    except FileNotFoundError:
        is_marked = False
    if not is_marked:
        trust.make(place)
        if not is_ours(place):
            raise trust.ForeignRootError(f"{place} holds files that are not this cache's")
        mark.touch(mode=0o600)
    return place


def size_limit() -> int:
    """How many bytes programs and kernels may take: ``$OSTINATO_CACHE_SIZE``, or 1 GiB.

    Errors: OptionError if the variable holds no size.
    """
    text = os.environ.get(SIZE_VARIABLE) or DEFAULT_SIZE
    found = re.fullmatch(r"(\d+)([KMGT]?)", text.strip())
    if found is None:
        remedy = "Use a number of bytes, or of KiB, MiB, GiB, such as 500M or 2G."
        raise OptionError(f"{SIZE_VARIABLE} is `{text}`", remedy)
    return int(found[1]) * _UNITS[found[2]]
