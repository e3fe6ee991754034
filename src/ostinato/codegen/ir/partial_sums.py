"""In which parts sums add up: what decides how they are rounded.

These numbers belong to the program. They follow its extents, never the number of workers nor the
machine that runs it, so that a result has the same bits for any number of threads. Wider tiles
round sums over tiles otherwise too: a target prefers widths, and a user may set them.
"""

from __future__ import annotations

from ostinato.pdg.index import Expr

UNROLLED = 4  # positions of an axis whose terms add up in turn, as numbers
COPIES = 16  # of a statement, at most, where several axes are unrolled
PARTS = 64  # numbers of a fold along a row that are kept apart, at most
PARTS_OF_ALL = 128  # of all folds of a nest: more leave the registers
ROW = 16  # numbers of a row that are kept apart while the rows of a matrix add up
GROUP_ROWS = 512  # of the tiles that add up one after the other in one place, or more
GROUPED = 1024  # numbers in the partial sums of a tile: fewer cost less than a second loop
ROWS = 8  # of a slice of a matrix, as far as there are not too many slices or too few
TILES = 4  # that a dim of constant extent has at least


def is_short_row(size: Expr) -> bool:
    """Whether a row is known to have fewer numbers than are kept apart."""
    return size.is_const and size.const < ROW


def slices_of(rows: int, least: int = ROWS) -> int:
    """In how many slices the rows of a matrix add up, each in turn; 1: in no parts.

    A slice has ``least`` rows or more, as far as there are not too few slices.

    >>> [slices_of(rows) for rows in (8, 16, 64, 128, 200, 512, 4096)]
    [1, 8, 8, 16, 8, 64, 64]
    """
    found = (n for n in (64, 32, 16) if rows % n == 0 and rows // n >= least)
    return next(found, 8 if rows % 8 == 0 and rows > 8 else 1)


def groups_of(rows: int) -> int:
    """How many groups the tiles of about so many rows form, each of which adds up its tiles.

    >>> [groups_of(rows) for rows in (1, 64, 4096, 8192, 10**6)]
    [8, 8, 8, 16, 64]
    """
    return next((n for n in (64, 32, 16) if rows >= n * GROUP_ROWS), 8)
