"""Python names for what the user named: readable, valid, and unique in their function."""

from __future__ import annotations

import keyword
import re
from collections.abc import Iterable


def identifier(text: str) -> str:
    """The nearest valid Python name.

    >>> identifier("policy.0 weight"), identifier("class"), identifier("2x")
    ('policy_0_weight', 'class_', '_2x')
    """
    name = re.sub(r"\W", "_", text, flags=re.ASCII) or "_"
    if name[0].isdigit():
        name = f"_{name}"
    return f"{name}_" if keyword.iskeyword(name) else name


class Names:
    """Hands out names that no one else in the same scope has."""

    def __init__(self, taken: Iterable[str] = ()) -> None:
        """Start with the names that are already in use."""
        self._taken = set(taken)
        self._next: dict[str, int] = {}

    def fresh(self, stem: str) -> str:
        """Return the stem, or the stem with the first number that makes it unused."""
        base = identifier(stem)
        name, k = base, self._next.get(base, 0)
        while name in self._taken:
            k += 1
            name = f"{base}{'' if base.endswith('_') else '_'}{k}"
        self._next[base] = k
        self._taken.add(name)
        return name

    def copy(self) -> Names:
        """Names for a nested scope, which sees all of these."""
        return Names(self._taken)
