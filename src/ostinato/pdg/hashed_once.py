"""Records that are keys of many tables: their hash is computed when it is first asked for."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar, cast

Made = TypeVar("Made")


class Keyed:
    """Room for the hash of a record."""

    __slots__ = ("known_hash",)
    known_hash: int


def hashed_once(kind: type[Made]) -> type[Made]:
    """Let the records of a frozen class, made of `Keyed`, keep their hash.

    It is none of their fields, so that no copy and no file has it: text hashes otherwise in every
    process.
    """
    computed = cast(Callable[[Keyed], int], kind.__hash__)

    def kept(self: Keyed) -> int:
        try:
            return self.known_hash
        except AttributeError:
            made: int = computed(self)
            object.__setattr__(self, "known_hash", made)
            return made

    kind.__hash__ = kept  # type: ignore[assignment, method-assign]  # a function becomes a method
    return kind
