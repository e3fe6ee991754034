"""Differences, bytes and tables as text."""

from __future__ import annotations

from collections.abc import Container, Sequence


def more(than: float | None, now: float | None) -> float | None:
    """How much more one is than the other, if both are known."""
    return than - now if than is not None and now is not None else None


def bytes_of(count: float | None) -> str:
    """Bytes with separators; nothing is known where a form has no plan.

    >>> bytes_of(12345), bytes_of(None)
    ('12,345 B', '-')
    """
    return "-" if count is None else f"{count:,.0f} B"


def columns(rows: Sequence[Sequence[str]], numbers: Container[int]) -> str:
    """Columns as wide as their widest cell; those of numbers to the right."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]

    def line(cells: Sequence[str]) -> str:
        placed = (
            cell.rjust(width) if k in numbers else cell.ljust(width)
            for k, (cell, width) in enumerate(zip(cells, widths, strict=True))
        )
        return "  ".join(placed).rstrip()

    return "\n".join(map(line, rows))


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Columns with headings; behind the first one all are numbers."""
    return columns([head, *rows], range(1, len(head)))
