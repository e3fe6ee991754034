"""Dimensions that no user declares: of derivatives and guards, and inside of functions.

The former come after everything that is declared, the latter before it, whatever a program was
written after: canonical expressions, and so plans and kernels, list dimensions in this order.
"""

from __future__ import annotations

import re
from zlib import crc32

from ostinato.pdg.index import INNER_SERIALS, Dim, Expr

_SERIALS = 10**9  # more than are ever declared


def inner(name: str, size: Expr) -> Dim:
    """A dimension of so many steps inside of a function, the same one at each call.

    >>> from ostinato.pdg.index import Extent, expr
    >>> inner("row", expr(4)).name, inner("row", expr(Extent("T")) - 1).name
    ('row_of_4', 'row_of_t_1')
    """
    text = re.sub(r"[^a-z0-9]+", "_", str(size).lower()).strip("_")
    made = f"{name}_of_{text}"
    return Dim(made, crc32(f"{made} {size}".encode()) % INNER_SERIALS, "", size)


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
