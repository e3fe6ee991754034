"""Compiled programs on disk, found again by content; safe between processes.

A program lives in a directory named by its key: ``program.py`` with Numba's own cache beside it,
and ``artifact.pickle``, which says which key it belongs to.

An artifact is two parts: what every run needs, then what few ask for, such as the plan. A program
that is run as before needs no plan, and unpickling one takes most of its start.
"""

from __future__ import annotations

import hashlib
import io
import os
import pickle
from collections.abc import Callable
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from typing import Any, BinaryIO

from ostinato.runtime.cache.eviction import ARTIFACT as ARTIFACT
from ostinato.runtime.cache.eviction import trim_at_times
from ostinato.runtime.disk import sealed, trust
from ostinato.runtime.disk.folder import VARIABLE as VARIABLE
from ostinato.runtime.disk.folder import ready_root, require_place
from ostinato.runtime.disk.folder import root as root
from ostinato.runtime.machine_code.source_module import FILE
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
        _write_source(place / FILE, artifact.source.encode())
        sealed.write(place / ARTIFACT, key, dumps(artifact))  # last: it says that all is here
        require_place(place)
        trim_at_times(place)
    except OSError as failure:
        trust.not_cached(failure)
        return None
    return place


def _write_source(file: Path, source: bytes) -> None:
    """Write the source where it is not yet: what Numba keeps is for a file of this very time."""
    try:
        is_there = trust.read(file) == source
    except OSError:
        is_there = False
    if not is_there:
        trust.write(file, source)


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
    artifact = loads(sealed.read(place / ARTIFACT, key))
    if not isinstance(artifact, Artifact):
        raise ValueError(f"it holds a {type(artifact).__name__}")
    if trust.read(place / FILE) != artifact.source.encode():
        raise ValueError(f"its {FILE} was changed")
    return artifact


LATER = ("units", "place", "place_stream", "price", "records", "profiled", "paused")
"""Fields of an artifact that hold the plan and its code: called when somebody asks."""


class Rest:
    """What few ask for, by the name of its field: unpickled when first asked for."""

    def __init__(self) -> None:
        """Start without the bytes, which come behind all else."""
        self.body = b""

    @cached_property
    def found(self) -> dict[str, Callable[..., Any]]:
        found: dict[str, Callable[..., Any]] = pickle.loads(self.body)
        self.body = b""
        return found


class Later:
    """A function of the rest."""

    def __init__(self, rest: Rest, name: str) -> None:
        self._rest, self._name = rest, name

    @property
    def function(self) -> Callable[..., Any]:
        """The function itself."""
        return self._rest.found[self._name]

    def __call__(self, *args: object) -> Any:
        return self.function(*args)


def dumps(artifact: object) -> bytes:
    """The bytes of an artifact."""
    rest = {name: getattr(artifact, name) for name in LATER}
    names = {id(value): name for name, value in rest.items()}
    file = io.BytesIO()
    _Pickler(file, names).dump(artifact)
    return file.getvalue() + pickle.dumps(rest, protocol=5)


def loads(body: bytes) -> object:
    """The artifact, most of whose time is left for later."""
    file, rest = io.BytesIO(body), Rest()
    artifact: object = _Unpickler(file, rest).load()
    rest.body = file.read()
    return artifact


class _Pickler(pickle.Pickler):
    def __init__(self, file: BinaryIO, names: dict[int, str]) -> None:
        super().__init__(file, protocol=5)
        self._names = names

    def persistent_id(self, obj: object) -> str | None:
        return self._names.get(id(obj))


class _Unpickler(pickle.Unpickler):
    def __init__(self, file: BinaryIO, rest: Rest) -> None:
        super().__init__(file)
        self._rest = rest

    def persistent_load(self, pid: str) -> Later:
        return Later(self._rest, pid)
