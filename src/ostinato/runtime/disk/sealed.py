"""Files that say what they belong to: a part of one, or that of another program, is not used.

The first line has the version of this form, what the file belongs to, and a digest of this and
everything below. It finds damage and files that were exchanged; who may write the file can compute
it, so that `trust` asks who may.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from ostinato.pdg.plaintext import plain
from ostinato.runtime.disk import trust

FORM = "ostinato-1"
T = TypeVar("T")


class Unsealed(ValueError):
    """A file is not what its name says; the text says why."""


def read(path: Path, of: str) -> bytes:
    """What a file of this user holds, if it belongs to what it is read for.

    Errors: Unsealed; ForeignError; OSError.
    """
    head, _, body = trust.read(path).partition(b"\n")
    found = head.decode("ascii", "replace").split(" ")
    if len(found) != 3 or found[0] != FORM:
        raise Unsealed("it is no file of this version")
    if found[1] != of:
        raise Unsealed(f"it belongs to {plain(found[1])}")
    if found[2] != _digest(of, body):
        raise Unsealed("its digest is wrong")
    return body


def write(path: Path, of: str, body: bytes) -> None:
    """Write a file at once, with what it belongs to.

    Errors: OSError.
    """
    trust.write(path, f"{FORM} {of} {_digest(of, body)}\n".encode("ascii") + body)


def _digest(of: str, body: bytes) -> str:
    return hashlib.sha256(of.encode() + b"\n" + body).hexdigest()


@dataclass(frozen=True, slots=True)
class Note:
    """Something small beside a program that is made again where it is missing.

    Without a ``directory`` nothing is kept. ``key`` is that of the program.
    """

    directory: Path | None
    key: str
    name: str

    def read(self) -> bytes | None:
        """What was kept; a file that cannot be used is told once."""
        if self.directory is None:
            return None
        path = self.directory / self.name
        try:
            return read(path, self.key)
        except FileNotFoundError:
            return None
        except (OSError, Unsealed) as failure:
            self.refuse(failure)
            return None

    def table(self, of: Callable[[Any], T]) -> dict[str, T]:
        """What was kept by `put` under some texts, as ``of`` reads it."""
        body = self.read()
        if body is None:
            return {}
        try:
            return {str(key): of(value) for key, value in json.loads(body).items()}
        except (ValueError, AttributeError, TypeError) as failure:
            self.refuse(failure)
            return {}

    def put(self, table: Mapping[str, object]) -> None:
        self.write(json.dumps(table).encode())

    def refuse(self, failure: Exception) -> None:
        """Say once that what was kept is no use."""
        place = self.name if self.directory is None else self.directory / self.name
        trust.warn_once(f"{place} is not used ({failure}): made again")

    def write(self, body: bytes) -> None:
        """Keep something, or say once why it cannot be kept."""
        if self.directory is None:
            return
        try:
            write(self.directory / self.name, self.key, body)
        except OSError as failure:
            trust.not_cached(failure)
