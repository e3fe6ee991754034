"""Compiled programs on disk, found again by content; safe between processes.

A program lives in a directory named by its key: ``program.py`` with Numba's own cache beside it,
and ``artifact.pickle``, which says which key it belongs to.
"""

from __future__ import annotations

import hashlib
import os
from contextlib import suppress
from pathlib import Path

from ostinato.runtime.build.source_module import FILE
from ostinato.runtime.cache import two_parts
from ostinato.runtime.cache.eviction import ARTIFACT as ARTIFACT
from ostinato.runtime.cache.eviction import trim_at_times
from ostinato.runtime.disk import sealed, trust
from ostinato.runtime.disk.folder import VARIABLE as VARIABLE
from ostinato.runtime.disk.folder import ready_root, require_place
from ostinato.runtime.disk.folder import root as root
from ostinato.runtime.run.artifact import Artifact


def digest(*parts: str | bytes) -> str:
    """32 hex digits that stand for the parts, in order.

    >>> digest("a", "b") == digest("ab", "")
    False
    """
    total = hashlib.sha256()
    for part in parts:
        raw = part.encode() if isinstance(part, str) else part
        total.update(len(raw).to_bytes(8, "little") + raw)
    return total.hexdigest()[:32]


def directory_of(key: str) -> Path:
    """Where the program with this key is or will be."""
    return root() / key[:2] / key


def store(key: str, artifact: Artifact) -> Path | None:
    """Keep an artifact and return its directory, or None where the cache cannot be written.

    That is told once. Other processes may store the same key at the same time: what they write is
    the same. Errors: OptionError if the limit of the cache's size is none.
    """
    place = directory_of(key)
    try:
        ready_root()
        trust.write(place / FILE, artifact.source.encode())
        sealed.write(
            place / ARTIFACT, key, two_parts.dumps(artifact)
        )  # last: it says that all is here
        require_place(place)
        trim_at_times(place)
    except OSError as failure:
        trust.not_cached(failure)
        return None
    return place


def load(key: str) -> Artifact | None:
    """Return the artifact with this key, or None if there is none that can be used.

    What is damaged, or is not the program of this key, is told once and built again.
    """
    place = directory_of(key)
    try:
        require_place(place)
        found = _read(place, key)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as failure:
        trust.not_read(failure, f"the cached program {place} is not used")
        return None
    except Exception as failure:  # whatever unpickling a damaged file may raise
        trust.warn_once(f"the cached program {place} is damaged ({failure}): rebuilt")
        return None
    with suppress(OSError):  # a cache that can only be read does not count uses
        os.utime(place / ARTIFACT)
    return found


def _read(place: Path, key: str) -> Artifact:
    artifact = two_parts.loads(sealed.read(place / ARTIFACT, key))
    if not isinstance(artifact, Artifact):
        raise ValueError(f"it holds a {type(artifact).__name__}")
    if trust.read(place / FILE) != artifact.source.encode():
        raise ValueError(f"its {FILE} was changed")
    return artifact
