"""Large arguments and results that stay where they are, instead of being copied.

An entry of the offset table counts elements from the beginning of the arena, and may as well lead
out of it: to an argument that lies as the program stores it, or to a result that is to be returned.
Small arrays are copied: their place in the arena is aligned, and reading them again is then faster.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from ostinato.runtime.run.arrays import Array, sizes

if TYPE_CHECKING:
    from ostinato.runtime.run.artifact import Field

LARGE = 1 << 18  # bytes: more than stays in the nearest caches until it is read


def lies_as_stored(field: Field, extents: Mapping[str, int]) -> bool:
    """Whether the user's array and the stored one have the same bytes, in the same order."""
    order = [k for group in field.axes for k in group]
    stored, shape = sizes(field.stored, extents), sizes(field.shape, extents)
    together = tuple(math.prod(stored[k] for k in group) for group in field.axes)
    return order == sorted(order) and together == shape


def is_large(field: Field, extents: Mapping[str, int]) -> bool:
    count = math.prod(sizes(field.stored, extents))
    return is_many(count * np.dtype(field.dtype).itemsize)


def is_many(size_bytes: int) -> bool:
    """Whether an array of so many bytes is large."""
    return size_bytes >= LARGE


def is_readable(argument: Array, field: Field) -> bool:
    """Whether compiled code can read an argument where it is."""
    flags = argument.flags
    return argument.dtype == np.dtype(field.dtype) and flags.c_contiguous and flags.aligned
