"""Compiled programs on disk, found again by content; safe between processes.

A program lives in a directory named by its key: ``program.py`` with Numba's own cache beside it,
and ``artifact.pickle``, whose first line is the digest of the rest.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
import warnings
from pathlib import Path

from ostinato.runtime import later, trust
from ostinato.runtime.artifact import Artifact
from ostinato.runtime.folder import VARIABLE as VARIABLE
from ostinato.runtime.folder import require_root
from ostinato.runtime.folder import root as root
from ostinato.runtime.kept import trim_at_times
from ostinato.runtime.module import FILE

ARTIFACT = "artifact.pickle"


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


def store(key: str, artifact: Artifact) -> Path:
    """Keep an artifact and return its directory.

    Another process may store the same key at the same time: the first one to finish wins. Where
    the cache cannot be written or is another user's, a temporary directory serves, with a warning.
    Errors: OptionError if the limit of the cache's size is none.
    """
    place = directory_of(key)
    try:
        require_root()
        trust.make(place.parent)
        building = Path(tempfile.mkdtemp(prefix=f".{key}.", dir=place.parent))
    except OSError as failure:
        trust.warn_once(f"nothing is cached: {failure}")
        place = Path(tempfile.mkdtemp(prefix="ostinato-"))
        _write(place, artifact)
        return place
    _write(building, artifact)
    try:
        building.rename(place)
    except OSError:  # somebody else was first: same key, same content
        shutil.rmtree(building, ignore_errors=True)
    trim_at_times(place)
    return place


def _write(directory: Path, artifact: Artifact) -> None:
    trust.write(directory / FILE, artifact.source.encode())
    body = later.dumps(artifact)
    head = hashlib.sha256(body).hexdigest().encode()
    trust.write(directory / ARTIFACT, head + b"\n" + body)


def load(key: str) -> Artifact | None:
    """Return the artifact with this key, or None if there is none or it is damaged.

    A damaged entry is removed, with a warning, so that it is built again.
    """
    place = directory_of(key)
    if not place.is_dir():
        return None
    try:
        require_root()
        found = _read(place)
        os.utime(place / ARTIFACT)
        return found
    except trust.ForeignError as failure:
        trust.warn_once(f"the cached program {place} is not used: {failure}")
        return None
    except Exception as failure:  # whatever a truncated or foreign file may raise
        warnings.warn(f"the cached program {place} is damaged ({failure}): rebuilt", stacklevel=2)
        shutil.rmtree(place, ignore_errors=True)
        return None


def _read(place: Path) -> Artifact:
    trust.require_own(place, place.stat())
    head, _, body = trust.read(place / ARTIFACT).partition(b"\n")
    if hashlib.sha256(body).hexdigest().encode() != head:
        raise ValueError("its digest is wrong")
    artifact = later.loads(body)
    if not isinstance(artifact, Artifact):
        raise ValueError(f"it holds a {type(artifact).__name__}")
    if trust.read(place / FILE).decode() != artifact.source:
        raise ValueError(f"its {FILE} was changed")
    return artifact
