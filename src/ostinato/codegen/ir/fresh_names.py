"""Names for the tensors that planning adds."""

from __future__ import annotations

from collections.abc import Container


def fresh(name: str, taken: Container[str]) -> str:
    """The name, or the first of ``name_2``, ``name_3``, ... that is free.

    >>> fresh("x_part", {"x_part", "x_part_2"})
    'x_part_3'
    """
    count, chosen = 1, name
    while chosen in taken:
        count += 1
        chosen = f"{name}_{count}"
    return chosen
