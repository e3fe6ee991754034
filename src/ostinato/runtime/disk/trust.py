"""Files that only this user can have written: what a cache holds is executed."""

from __future__ import annotations

import os
import stat
import tempfile
import warnings
from functools import cache
from pathlib import Path

OTHERS_MAY_WRITE = stat.S_IWGRP | stat.S_IWOTH
HAS_OWNERS = hasattr(os, "geteuid")


class ForeignError(OSError):
    """A file or directory that somebody else can have written."""


class ForeignRootError(ForeignError):
    """The whole cache is somebody else's, or is not told apart from what is."""


def require_own(path: Path, found: os.stat_result) -> None:
    """Raise ForeignError unless this user owns what was found, and nobody else may change it."""
    if stat.S_ISLNK(found.st_mode):
        raise ForeignError(f"{path} is a link to another place")
    if not HAS_OWNERS:
        return
    if found.st_uid != os.geteuid():
        raise ForeignError(f"{path} belongs to another user (number {found.st_uid})")
    if found.st_mode & OTHERS_MAY_WRITE:
        raise ForeignError(f"other users may write {path} (run `chmod go-w` on it)")


def require_way(path: Path) -> None:
    """Raise ForeignError if somebody else can put another directory where a path leads.

    The path has no links. A directory around it is this user's or the system's; others may write it
    only if they cannot move what is not theirs (the sticky bit, as in /tmp), or if they are the
    group that has this user's name.
    """
    if not HAS_OWNERS:
        return
    for around in path.parents:
        try:
            found = around.lstat()
        except FileNotFoundError:
            continue  # it is made by this user, for this user only
        if found.st_uid not in (0, os.geteuid()):
            raise ForeignError(f"{around} belongs to another user (number {found.st_uid})")
        if found.st_mode & OTHERS_MAY_WRITE and not found.st_mode & stat.S_ISVTX:
            if found.st_mode & stat.S_IWOTH or not _is_private(found.st_gid):
                raise ForeignError(f"other users may write {around} (run `chmod go-w` on it)")


def _is_private(group: int) -> bool:
    """Whether a group has this user's name and no further members, as many systems make it."""
    import grp  # few have such directories, and some systems no groups
    import pwd

    try:
        name, found = pwd.getpwuid(os.geteuid()).pw_name, grp.getgrgid(group)
    except KeyError:
        return False
    return found.gr_name == name and set(found.gr_mem) <= {name}


def read(path: Path) -> bytes:
    """The contents of a file of this user, which is no link.

    Errors: ForeignError; OSError.
    """
    if path.is_symlink():
        raise ForeignError(f"{path} is a link to another place")
    handle = os.open(
        path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
    )
    with os.fdopen(handle, "rb") as file:
        found = os.fstat(handle)
        require_own(path, found)
        if not stat.S_ISREG(found.st_mode):
            raise ForeignError(f"{path} is no file")
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
    """Make a directory that only this user may write, with its parents.

    Errors: ForeignError if a link stands there; OSError.
    """
    if directory.is_symlink():
        raise ForeignError(f"{directory} is a link to another place")
    if not directory.is_dir():
        make(directory.parent)
        directory.mkdir(mode=0o700, exist_ok=True)


@cache
def warn_once(text: str) -> None:
    """Say something about a file, once in a process."""
    warnings.warn(text, stacklevel=4)


def not_read(failure: OSError, fact: str) -> None:
    """Say once why a file is not used: its own fact, or what keeps the whole cache from use."""
    if isinstance(failure, ForeignError) and not isinstance(failure, ForeignRootError):
        warn_once(f"{fact} ({failure})")
    else:
        not_cached(failure)


def not_cached(failure: OSError) -> None:
    """Say once in a process why what was made cannot be kept: the next process makes it again."""
    warn_once(f"nothing is cached: {failure.strerror or failure}")
