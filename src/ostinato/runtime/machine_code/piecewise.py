"""The machine code of a program while it is being written, function by function."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from ostinato.pdg.errors import UnreadableError
from ostinato.runtime.machine_code import objects
from ostinato.runtime.machine_code.compiling import Team
from ostinato.runtime.machine_code.linking import key_of, named
from ostinato.runtime.machine_code.ports import Unit


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
        self._team = team
        self._driver, self._kernels = "", list[str]()
        self._names: dict[str, str] = {}
        self._found: dict[str, bytes] = {}
        self.failure: Exception | None = None  # a function that only Numba can compile

    def add(self, units: Iterable[Unit]) -> None:
        """Begin with functions, each as soon as it is written."""
        if self.failure is None:
            try:
                for unit in units:
                    self._begin(unit)
            except UnreadableError as failure:
                self.failure = failure

    def _begin(self, unit: Unit) -> None:
        key = self._names[unit.name] = key_of(unit.text)
        if unit.kind == "kernel":
            self._kernels.append(unit.name)
        if unit.kind == "driver":
            self._driver = unit.name
        if key not in self._found:
            body = objects.load(key)
            self._found[key] = body or b""
            if body is None:
                self._team.put(key, named(unit.text, key))

    def finish(self) -> tuple[Keys, dict[str, bytes]]:
        """Wait for all of it, and keep what is new in the cache.

        Errors: the failure, if there is one; UnreadableError if there is no driver.
        """
        if self.failure is not None:
            raise self.failure
        made = self._team.finish()
        for key, body in made.items():
            objects.store(key, body)
        if not self._driver:
            raise UnreadableError("no driver")
        others = self._names.keys() - {self._driver, *self._kernels}
        keys = Keys(
            self._names[self._driver],
            tuple(self._names[name] for name in self._kernels),
            tuple(sorted(self._names[name] for name in others)),
        )
        return keys, {**self._found, **made}
