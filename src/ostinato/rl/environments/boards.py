"""What games on a board of 10 x 10 places have in common: places as truths."""

from __future__ import annotations

from ostinato.language.functions.basic import arange, clip, concatenate, stack, zeros
from ostinato.language.kinds import Count
from ostinato.language.tensor import Tensor

SIZE, LANES = 10, 8


def dot(row: Tensor | int, column: Tensor | int, rows: Count = SIZE) -> Tensor:
    """Return a board that is true in one place, and nowhere if the place is not on the board.

    Shapes: (...), (...) -> (..., rows, SIZE).
    """
    return is_at(row, rows)[..., None] & is_at(column, SIZE)[..., None, :]


def is_at(position: Tensor | int, size: Count) -> Tensor:
    """Return which of ``size`` places a position is: (...) -> (..., size)."""
    place = position[..., None] if isinstance(position, Tensor) else position
    return arange(size) == place


def moved(position: Tensor, less: Tensor, more: Tensor, low: int = 0, high: int = 9) -> Tensor:
    """Return a position a place before or behind, no further than to the ends."""
    return clip(position - less.cast("int32") + more.cast("int32"), low, high)


def layers(*boards: Tensor) -> Tensor:
    """Return boards as what an agent sees: (SIZE, SIZE) each -> (SIZE, SIZE, n) of 0 and 1."""
    return stack([board.cast("float32") for board in boards], -1)


def in_lanes(columns: Tensor, there: Tensor) -> Tensor:
    """Return a board with one place in each of the lanes, rows 1 to 8, where something is there.

    Shapes: columns (LANES,), there (LANES,) -> (SIZE, SIZE).
    """
    lanes = is_at(columns, SIZE) & there[..., None]
    edge = zeros((1, SIZE), "bool")
    return concatenate([edge, lanes, edge])
