"""Between the user's arrays and the arena: views, tiles put together and taken apart."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from ostinato.pdg.index import Dim, Expr, Extent, evaluate, symbols
from ostinato.runtime.artifact import Field

Array = npt.NDArray[Any]
ALIGNMENT = 64  # one cache line, one vector register


def sizes(of: Sequence[Expr], extents: Mapping[str, int]) -> tuple[int, ...]:
    """Evaluate expressions over extents."""
    point: dict[Dim | Extent, int] = {Extent(name): n for name, n in extents.items()}
    return tuple(evaluate(e, point) for e in of)


def tile_counts(of: Sequence[Expr], extents: Mapping[str, int]) -> list[int]:
    """The values of those expressions that mention extents only."""
    known = [e for e in of if all(isinstance(s, Extent) for s in symbols(e))]
    return list(sizes(known, extents))


def empty_arena(size_bytes: int) -> npt.NDArray[np.uint8]:
    """An aligned byte array; its contents are arbitrary."""
    raw = np.empty(size_bytes + ALIGNMENT, np.uint8)
    skip = -raw.ctypes.data % ALIGNMENT
    return raw[skip : skip + size_bytes]


def stored_view(
    arena: npt.NDArray[np.uint8], field: Field, offset_bytes: int, extents: Mapping[str, int]
) -> Array:
    """The field's memory as an array of its stored shape."""
    shape = sizes(field.stored, extents)
    dtype = np.dtype(field.dtype)
    count = math.prod(shape) * dtype.itemsize
    return arena[offset_bytes : offset_bytes + count].view(dtype).reshape(shape)


def put(view: Array, field: Field, argument: Array, extents: Mapping[str, int]) -> None:
    """Copy an argument into its memory; tiles are padded with zeros, axes of size 1 dissolve."""
    value = argument.reshape(sizes(field.shape, extents))
    order = [k for group in field.axes for k in group]
    across = view.transpose(order)
    padded = tuple(math.prod(view.shape[k] for k in group) for group in field.axes)
    if padded != value.shape:
        wide = np.zeros(padded, view.dtype)
        wide[tuple(slice(0, n) for n in value.shape)] = value
        value = wide
    across[...] = value.reshape(across.shape)


def take(view: Array, field: Field, extents: Mapping[str, int]) -> Array:
    """Return a copy of a result in the user's layout."""
    return _together(view, field.axes, sizes(field.shape, extents))


def take_step(view: Array, field: Field, extents: Mapping[str, int], step: int) -> Array:
    """Return a copy of a result at one index of its first axis."""
    first = field.axes[0]
    where = np.unravel_index(step, [view.shape[k] for k in first])  # the tile and the place in it
    part = np.moveaxis(view, first, range(len(first)))[where]
    rest = tuple(tuple(k - sum(k > gone for gone in first) for k in g) for g in field.axes[1:])
    return _together(np.asarray(part), rest, sizes(field.shape[1:], extents))


def _together(view: Array, axes: Sequence[Sequence[int]], shape: tuple[int, ...]) -> Array:
    across = view.transpose([k for group in axes for k in group])
    merged = across.reshape([math.prod(view.shape[k] for k in group) for group in axes])
    return np.array(merged[tuple(slice(0, n) for n in shape)], copy=True, order="C")
