"""In which parts sums add up: what decides how they are rounded.

These numbers belong to the program. They follow its extents, never the number of workers nor the
machine that runs it, so that a result has the same bits for any number of threads. Wider tiles
round sums over tiles otherwise too: a target prefers widths, and a user may set them.
"""

from __future__ import annotations

UNROLLED = 4  # positions of an axis whose terms add up in turn, as numbers
COPIES = 16  # of a statement, at most, where several axes are unrolled
ROW = 16  # numbers of a row that are kept apart while the rows of a matrix add up
SLICES = 8  # of the rows of a matrix
GROUPS = 8  # of tiles that add up one after the other in one place
GROUPED = 1024  # numbers in the partial sums of a tile: fewer cost less than a second loop
TILES = 4  # that a dim of constant extent has at least
