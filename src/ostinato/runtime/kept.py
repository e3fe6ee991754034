"""What the cache directory holds, how large it is, and what goes when it is too large."""

from __future__ import annotations

import shutil
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from ostinato.runtime import objects, trust
from ostinato.runtime.folder import require_root, root, size_limit

SPARE = 0.9  # what is left of the limit after something had to go
TRIM_EVERY_S = 60.0  # looking at everything takes longer than compiling something small
PREFIX = 2  # letters of a key that name a directory
CHECKS = "checks"  # the directory of proofs that programs are defined


@dataclass(frozen=True, slots=True)
class Entry:
    """A program, a kernel or a proof on disk, and when it was last used."""

    path: Path
    size_bytes: int
    used: float


@dataclass(frozen=True, slots=True)
class Kind:
    """Entries of one kind together."""

    name: str
    entries: int
    size_bytes: int


def programs() -> Iterator[Entry]:
    """The programs in the cache."""
    for place in _below(root()):
        if not place.is_dir() or place.name.startswith("."):
            continue
        files = [path.stat() for path in place.rglob("*") if path.is_file()]
        size = sum(each.st_size for each in files)
        yield Entry(place, size, max((each.st_mtime for each in files), default=0.0))


def kernels() -> Iterator[Entry]:
    """The machine code in the cache."""
    for path in _below(root() / objects.FOLDER):
        if path.suffix == ".o":
            found = path.stat()
            yield Entry(path, found.st_size, found.st_mtime)


def checks() -> Iterator[Entry]:
    """The programs that are known to be defined."""
    for path in _below(root() / CHECKS):
        if not path.name.startswith("."):
            found = path.stat()
            yield Entry(path, found.st_size, found.st_mtime)


def _everything() -> list[Entry]:
    return [*programs(), *kernels(), *checks()]


def _below(place: Path) -> Iterator[Path]:
    """What lies in the directories that are named by the first letters of keys."""
    if not place.is_dir():
        return
    for part in sorted(place.iterdir()):
        if len(part.name) == PREFIX and part.is_dir():
            yield from sorted(part.iterdir())


def kinds() -> tuple[Kind, ...]:
    """How many entries of each kind there are, and what they take."""
    return tuple(
        Kind(name, len(found), sum(each.size_bytes for each in found))
        for name, found in (
            ("programs", [*programs()]),
            ("kernels", [*kernels()]),
            ("checks", [*checks()]),
        )
    )


def clear() -> Kind:
    """Remove all programs, kernels and checks; profiles of the machine and proofs of rules stay.

    Errors: ForeignError if the directory is not this user's.
    """
    require_root()
    gone = _everything()
    _remove(gone)
    return Kind("removed", len(gone), sum(each.size_bytes for each in gone))


def trim_at_times(needed: Path) -> None:
    """`trim`, unless a process has done so a short time ago.

    Errors: OptionError if the limit is none.
    """
    size_limit()
    stamp = root() / ".trimmed"
    try:
        is_due = time.time() - stamp.stat().st_mtime > TRIM_EVERY_S
    except FileNotFoundError:
        is_due = True
    if is_due:
        stamp.touch()
        trim(needed)


def trim(needed: Path) -> int:
    """Remove what was not used for longest while the cache is larger than its limit.

    What is ``needed`` now stays. Returns how many entries have gone. Errors: OptionError if the
    limit is none.
    """
    limit = size_limit()
    found = sorted(_everything(), key=lambda each: each.used)
    total = sum(each.size_bytes for each in found)
    if total <= limit:
        return 0
    gone: list[Entry] = []
    for each in found:
        if total <= SPARE * limit:
            break
        if each.path != needed:
            gone.append(each)
            total -= each.size_bytes
    _remove(gone)
    return len(gone)


def _remove(entries: Iterable[Entry]) -> None:
    """Remove entries; who reads one at this moment makes it again."""
    for each in entries:
        try:
            if each.path.is_dir():
                hidden = each.path.with_name(f".{each.path.name}.gone")
                each.path.rename(hidden)  # nobody finds a part of it
                shutil.rmtree(hidden)
            else:
                each.path.unlink()
        except OSError as failure:  # another process was first, or it is not ours
            if each.path.exists():
                trust.warn_once(f"{each.path} stays in the cache: {failure}")
