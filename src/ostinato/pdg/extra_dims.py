"""Further indices over the steps of a dimension, which derivatives and guards are written with.

They come after everything that is declared, whatever a program was written after: canonical
expressions, and so plans and kernels, list dimensions in this order.
"""

from __future__ import annotations

from ostinato.pdg.index import Dim

_SERIALS = 10**9  # more than are ever declared


def twin(dim: Dim) -> Dim:
    """A second index over the steps of a dimension, the same one at each call."""
    number = generation(dim) + 1
    symbol = dim.symbol.name
    return Dim(f"{symbol.lower()}_{number}", dim.serial + _SERIALS, symbol, dim.size)


def generation(dim: Dim) -> int:
    """How often `twin` was taken: 0 for a dimension that is declared."""
    return dim.serial // _SERIALS


def in_generation(dim: Dim, number: int) -> Dim:
    """The dimension at its place among those of a generation.

    >>> generation(in_generation(Dim("t_1", steps="T"), 1))
    1
    """
    return Dim(dim.name, dim.serial % _SERIALS + number * _SERIALS, dim.steps, dim.size)
