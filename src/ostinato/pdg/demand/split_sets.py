"""Sets that a condition cut in two, joined again without asking isl."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from ostinato.pdg.isl import Set


@dataclass(eq=False)
class Halves:
    """Which two sets are the parts of a third one; sets count by identity.

    A chain of choices asks of one value what each branch asks, and the parts of parts are the
    whole. As a union of sets the whole would be one of very many pieces.
    """

    _wholes: dict[Set, list[tuple[Set, Set]]] = field(
        default_factory=dict[Set, list[tuple[Set, Set]]]
    )

    def note(self, one: Set, other: Set, whole: Set) -> None:
        """Remember that two sets are the parts of a third one."""
        for part, rest in ((one, other), (other, one)):
            known = self._wholes.setdefault(part, [])
            if not any(r is rest for r, _ in known):
                known.append((rest, whole))

    def joined(self, parts: Iterable[Set]) -> list[Set]:
        """Return sets with the same union, wholes in place of their parts."""
        found: dict[Set, None] = {}
        for part in parts:
            while (pair := self._other_half(part, found)) is not None:
                rest, part = pair
                del found[rest]
            found[part] = None
        return list(found)

    def _other_half(self, part: Set, found: dict[Set, None]) -> tuple[Set, Set] | None:
        known = self._wholes.get(part, ())
        return next((pair for pair in known if pair[0] in found), None)
