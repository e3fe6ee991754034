"""An artifact as bytes: what every run needs, then what few ask for, such as the plan.

A program that is run as before needs no plan, and unpickling one takes most of its start.
"""

from __future__ import annotations

import io
import pickle
from collections.abc import Callable
from functools import cached_property
from typing import Any, BinaryIO

LATER = ("units", "place", "price", "records", "profiled")
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
        """Unpickle nothing yet."""
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
