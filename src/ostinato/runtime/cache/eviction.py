"""What the cache directory holds, how large it is, and what goes when it is too large.

Only what the cache itself has written is counted and removed: files of its names, in directories of
its names, in a directory that it has made. Links are never followed.
"""

from __future__ import annotations

import os
import re
import stat
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from ostinato.runtime.disk import trust
from ostinato.runtime.disk.folder import is_ours, require_root, root, size_limit
from ostinato.runtime.machine_code import objects
from ostinato.runtime.machine_code.source_module import FILE, KEYS
from ostinato.runtime.run.extent_choices import LAYOUTS, THREADS

SPARE = 0.9  # what is left of the limit after something had to go
TRIM_EVERY_S = 60.0  # looking at everything takes longer than compiling something small
CHECKS = "checks"  # the directory of proofs that programs are defined
ARTIFACT = "artifact.pickle"

_PREFIX = re.compile("[0-9a-f]{2}")  # of a key, which names a directory
_KEY = re.compile("[0-9a-f]{32}")
_OBJECT = re.compile("[0-9a-f]{32}\\.o")
_WRITTEN = "|".join(map(re.escape, (ARTIFACT, FILE, KEYS, LAYOUTS, THREADS)))
_FILE = re.compile(f"{_WRITTEN}|\\.({_WRITTEN})\\.[a-z0-9_]{{8}}")  # or what was not finished
_COMPILED = re.compile("__pycache__")
_NUMBA = re.compile("program\\..*\\.(nbi|nbc|pyc)(\\.tmp\\..*)?")


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
    for place in _below(root(), _KEY):
        found = [(each.name, seen) for each in _within(place) if (seen := _file(each))]
        if any(name == ARTIFACT for name, _ in found):
            size = sum(seen.st_size for _, seen in found)
            yield Entry(Path(place.path), size, max(seen.st_mtime for _, seen in found))


def kernels() -> Iterator[Entry]:
    """The machine code in the cache."""
    return _files(root() / objects.FOLDER, _OBJECT)


def checks() -> Iterator[Entry]:
    """The programs that are known to be defined."""
    return _files(root() / CHECKS, _KEY)


def _files(place: Path, name: re.Pattern[str]) -> Iterator[Entry]:
    for each in _below(place, name):
        found = _file(each)
        if found is not None:
            yield Entry(Path(each.path), found.st_size, found.st_mtime)


def _below(place: Path, name: re.Pattern[str]) -> Iterator[os.DirEntry[str]]:
    """What has a name that the cache gives, in directories named by the first letters of keys."""
    for part in _named(place, _PREFIX):
        for each in _named(part, name):
            if each.name.startswith(part.name):
                yield each


def _within(place: Path | os.DirEntry[str]) -> Iterator[os.DirEntry[str]]:
    """The files of a program that were written here."""
    yield from _named(place, _FILE)
    for folder in _named(place, _COMPILED):
        yield from _named(folder, _NUMBA)


def _named(place: Path | os.DirEntry[str], name: re.Pattern[str]) -> list[os.DirEntry[str]]:
    """What has such a name in a directory; a link to one is none."""
    if not _is_directory(place):
        return []
    try:
        with os.scandir(place) as found:
            known = [each for each in found if name.fullmatch(each.name)]
    except OSError:  # it was removed a moment ago, or is not ours to read
        return []
    return sorted(known, key=lambda each: each.name)


def _is_directory(place: Path | os.DirEntry[str]) -> bool:
    """Whether there is a directory, which no link leads to; an entry knows without a look."""
    if isinstance(place, Path):
        return place.is_dir() and not place.is_symlink()
    return place.is_dir(follow_symlinks=False)


def _file(each: os.DirEntry[str]) -> os.stat_result | None:
    """What is known of a file; None if it is a link, no file, or gone."""
    try:
        found = each.stat(follow_symlinks=False)
    except OSError:
        return None
    return found if stat.S_ISREG(found.st_mode) else None


def _everything() -> list[Entry]:
    """All entries; none of a directory that was not made here."""
    return [*programs(), *kernels(), *checks()] if is_ours(root()) else []


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

    Errors: OptionError if the limit is none; OSError.
    """
    size_limit()
    stamp = root() / ".trimmed"
    try:
        is_due = time.time() - stamp.stat().st_mtime > TRIM_EVERY_S
    except FileNotFoundError:
        is_due = True
    if is_due:
        trust.write(stamp, b"")
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
    """Remove entries; who reads one at this moment makes it again.

    Of a program its artifact goes first, so that nobody finds a part of it, and nothing goes that
    was not written here: a directory that holds something else stays.
    """
    for each in entries:
        try:
            if not _is_directory(each.path):
                each.path.unlink()
                continue
            for file in sorted(_within(each.path), key=lambda file: file.name != ARTIFACT):
                Path(file.path).unlink(missing_ok=True)
            for place in (each.path / "__pycache__", each.path):
                if _is_directory(place) and not os.listdir(place):
                    place.rmdir()
        except FileNotFoundError:
            continue  # another process was first
        except OSError as failure:
            trust.warn_once(f"{each.path} stays in the cache: {failure}")
