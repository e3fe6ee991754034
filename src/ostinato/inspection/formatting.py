"""Differences, bytes and tables as text."""

from __future__ import annotations

from collections.abc import Sequence


def more(than: float | None, now: float | None) -> float | None:
    """How much more one is than the other, if both are known."""
    return than - now if than is not None and now is not None else None


def bytes_of(count: float | None) -> str:
    """Bytes with separators; nothing is known where a form has no plan.

    >>> bytes_of(12345), bytes_of(None)
    ('12,345 B', '-')
    """
    return "-" if count is None else f"{count:,.0f} B"


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Columns as wide as their widest cell; numbers, after the first column, to the right."""
    widths = [max(map(len, column)) for column in zip(head, *rows, strict=True)]

    def line(cells: Sequence[str]) -> str:
        first, *rest = zip(cells, widths, strict=True)
        placed = [first[0].ljust(first[1]), *(cell.rjust(width) for cell, width in rest)]
        return "  ".join(placed).rstrip()

    return "\n".join(map(line, (head, *rows)))
