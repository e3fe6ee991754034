"""The machine code of a program while its source is being written, piece by piece."""

from __future__ import annotations

import importlib
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from ostinato.runtime.build import objects
from ostinato.runtime.build.compiling import Team
from ostinato.runtime.build.linking import key_of, named

READER = (
    "ostinato.codegen.cpu.native.llvm_modules"  # named, not imported: a cached program needs none
)


@dataclass(frozen=True)
class Keys:
    """The names of a program's machine code: driver, kernels in order, and what these call."""

    driver: str
    kernels: tuple[str, ...]
    parts: tuple[str, ...]

    @property
    def all(self) -> set[str]:
        return {self.driver, *self.kernels, *self.parts}


class Making:
    """What a team compiles for one program: whatever is in no cache, as soon as it is written."""

    def __init__(self, team: Team) -> None:
        """Start with nothing written."""
        self._team = team
        self._pieces: Any = None
        self._names: dict[str, str] = {}
        self._found: dict[str, bytes] = {}
        self.failure: Exception | None = None  # a piece that only Numba can read

    def add(self, function: object) -> None:
        """Begin with a function of the loop IR."""
        reader = importlib.import_module(READER)
        if self._pieces is None:
            self._pieces = reader.Pieces()
        if self.failure is None:
            try:
                self._begin(self._pieces.units(function))
            except reader.UnreadableError as failure:
                self.failure = failure

    def _begin(self, units: Iterable[Any]) -> None:
        for unit in units:
            key = self._names[unit.name] = key_of(unit.text)
            if key in self._found:
                continue
            body = objects.load(key)
            self._found[key] = body or b""
            if body is None:
                self._team.put(key, named(unit.text, key))

    def finish(self) -> tuple[Keys, dict[str, bytes]]:
        """Wait for all of it, and keep what is new in the cache.

        Errors: the failure, if there is one.
        """
        if self.failure is not None:
            raise self.failure
        made = self._team.finish()
        for key, body in made.items():
            objects.store(key, body)
        if self._pieces is None or not self._pieces.driver:
            raise importlib.import_module(READER).UnreadableError("no driver")
        kernels, driver = self._pieces.kernels, self._pieces.driver
        others = self._names.keys() - {driver, *kernels}
        keys = Keys(
            self._names[driver],
            tuple(self._names[name] for name in kernels),
            tuple(sorted(self._names[name] for name in others)),
        )
        return keys, {**self._found, **made}
