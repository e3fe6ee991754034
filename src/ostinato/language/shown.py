"""Any value as an error names it: short, whatever it is."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import cast

import numpy as np

from ostinato.language.protocols import KnownAtRuns, Unassigned
from ostinato.pdg.naming import called
from ostinato.pdg.node import Node

LONGEST = 40  # characters of a text
LONGEST_BITS = 64  # of an integer
MOST = 8  # items of a list


def shown(value: object) -> str:
    """Return a value in a few words.

    >>> shown(["a", 1]), shown([1] * 50), shown(10**40), shown(float)
    ("['a', 1]", 'a list of 50', 'an integer of 133 bits', 'the class float')
    """
    kind = type(value)
    if is_a(value, np.ndarray, np.generic):
        array = np.asarray(value)
        return f"an array of {array.dtype} and shape {array.shape}" if array.ndim else str(array)
    if is_a(value, list, tuple):
        return _listed(kind.__name__, cast(Sequence[object], value))
    if is_a(value, dict, set, frozenset):
        return f"a {kind.__name__} of {len(cast(Collection[object], value))}"
    match value:
        case bool() | float() | complex() | None:
            return repr(value)
        case int():
            long = value.bit_length() > LONGEST_BITS
            return f"an integer of {value.bit_length()} bits" if long else repr(value)
        case str() | bytes():
            return repr(value) if len(value) <= LONGEST else f"{value[:LONGEST]!r}..."
        case KnownAtRuns() if not is_a(value, Unassigned):  # an index, or a condition
            return f"`{value}`"
        case _:
            pass
    if is_a(value, type, slice):
        return f"the class {cast(type, value).__name__}" if is_a(value, type) else repr(value)
    node: object = getattr(value, "node", None)
    return called(node) if isinstance(node, Node) else with_article(kind.__name__)


def is_a(value: object, *types: type) -> bool:
    """Whether a value is of one of some types; type checkers learn nothing of it."""
    return isinstance(value, types)


def with_article(name: str) -> str:
    """Return a name after "a" or "an".

    >>> with_article("Record"), with_article("object")
    ('a Record', 'an object')
    """
    return f"{'an' if name[:1].lower() in 'aeiou' else 'a'} {name}"


def _listed(kind: str, items: Sequence[object]) -> str:
    if len(items) > MOST:
        return f"a {kind} of {len(items)}"
    inside = ", ".join(map(_item, items))
    if kind == "list":
        return f"[{inside}]"
    return f"({inside},)" if len(items) == 1 else f"({inside})"


def _item(item: object) -> str:
    """An item of a list: of a list in it, how many there are."""
    kind = type(item).__name__
    if is_a(item, list, tuple):
        return f"a {kind} of {len(cast(Sequence[object], item))}"
    return shown(item)
