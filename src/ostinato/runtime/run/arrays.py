"""Between the user's arrays and the arena: views, tiles put together and taken apart.

Memory of a padded result is laid out for a bound of each size that extents alone decide; its axes
are as long as the longest over the points of the run.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import product
from typing import Any

import numpy as np
import numpy.typing as npt

from ostinato.pdg.index import Dim, Expr, Extent, Numbers, evaluate, symbols
from ostinato.runtime.machine_code.ports import Field, InMemory

Array = npt.NDArray[Any]
ALIGNMENT = 64  # one cache line, one vector register
COLUMNS = 64  # of a transposed copy: some lines per row


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


def stored_bytes(field: InMemory, extents: Mapping[str, int]) -> int:
    """What a tensor takes as it is stored."""
    return math.prod(sizes(field.stored, extents)) * np.dtype(field.dtype).itemsize


def stored_view(
    arena: npt.NDArray[np.uint8],
    field: InMemory,
    offset_bytes: int,
    extents: Mapping[str, int],
    shape: Sequence[int] | None = None,
) -> Array:
    """The field's memory as an array of its stored shape, or of another one."""
    shape = sizes(field.stored, extents) if shape is None else shape
    dtype = np.dtype(field.dtype)
    count = math.prod(shape) * dtype.itemsize
    return arena[offset_bytes : offset_bytes + count].view(dtype).reshape(shape)


class Entrance:
    """The way of an argument into its memory, which extents decide."""

    def __init__(self, view: Array, field: Field, extents: Mapping[str, int]) -> None:
        """Tiles are padded with zeros, axes of size 1 dissolve."""
        self.shape, self.view = sizes(field.shape, extents), view
        self._across = view.transpose([k for group in field.axes for k in group])
        self._padded = tuple(math.prod(view.shape[k] for k in group) for group in field.axes)
        self._rows = tuple(slice(0, n) for n in self.shape)

    def put(self, argument: Array) -> None:
        """Copy an argument into its memory."""
        value = argument.reshape(self.shape)
        if self._padded != value.shape:
            wide = np.zeros(self._padded, self._across.dtype)
            wide[self._rows] = value
            value = wide
        copy(self._across, value.reshape(self._across.shape))


class Exit:
    """The way of a result out of its memory, which extents decide.

    Whole tiles and the rows of a last one go to their place at once, without a copy between.
    """

    def __init__(
        self,
        view: Array,
        axes: Sequence[Sequence[int]],
        shape: tuple[int, ...],
        steps: Sequence[int] = (),
    ) -> None:
        """An axis of the result is a group of axes, tiles one after the other, without padding.

        It is taken at one index of the group ``steps``, if there is one.
        """
        self.shape, self.dtype, self.view = shape, view.dtype, view
        self.size_bytes = math.prod(shape) * view.dtype.itemsize
        self._tiles = [view.shape[k] for k in steps]
        across = view.transpose([*steps, *(k for group in axes for k in group)])
        parts = [_parts(n, [view.shape[k] for k in g]) for n, g in zip(shape, axes, strict=True)]
        self._sources: list[tuple[tuple[Any, ...], Array]] = []
        for choice in product(*parts):
            places: list[Any] = [at for part in choice for at in part.tiles]
            rows = tuple(part.rows for part in choice)
            whole = [slice(None)] * len(steps)
            source = across[(*whole, *places, ...)]  # a view, of a number too
            self._sources.append(((*rows, ...), source))

    def take(self, out: Array, at: Sequence[int] = ()) -> Array:
        """Copy the result into an array of its shape, and return that."""
        here: tuple[Any, ...] = (*at, ...)
        for rows, source in self._sources:
            part = source[here]
            copy(out[rows].reshape(part.shape, copy=False), part)
        return out

    def take_step(self, step: int) -> Array:
        """A copy of the result at one step."""
        at: list[int] = []  # the tile and the place in it
        for size in reversed(self._tiles):
            step, place = divmod(step, size)
            at.insert(0, place)
        return self.take(np.empty(self.shape, self.dtype), at)

    def put(self, result: Array) -> None:
        """Copy a result back to where it was taken from; padding stays as it is."""
        for rows, source in self._sources:
            copy(source, result[rows].reshape(source.shape))


def put(view: Array, field: Field, argument: Array, extents: Mapping[str, int]) -> None:
    """Copy an argument into its memory."""
    Entrance(view, field, extents).put(argument)


def take(view: Array, field: Field, extents: Mapping[str, int]) -> Array:
    """Return a copy of a result in the user's layout."""
    return _together(view, field.axes, sizes(field.shape, extents))


def exit_by_steps(view: Array, field: Field, extents: Mapping[str, int]) -> Exit:
    """The way of single steps, indices of the first axis, out of the memory of a result."""
    first, *rest = field.axes
    return Exit(view, rest, sizes(field.shape[1:], extents), first)


def steps_of(view: Array, field: Field, first: int, end: int) -> Array:
    """The memory of some steps, which are the first axis of a result: whole tiles of them."""
    if not field.axes[0]:
        return view  # one step, which is no axis
    outer, *inner = field.axes[0]
    tile = math.prod(view.shape[k] for k in inner)
    rows = slice(first // tile, -(-end // tile))
    return view[(*(slice(None),) * outer, rows)]


def _together(view: Array, axes: Sequence[Sequence[int]], shape: tuple[int, ...]) -> Array:
    return Exit(view, axes, shape).take(np.empty(shape, view.dtype))


def copy(target: Array, source: Array) -> None:
    """Copy elements; where neighbours of one are far apart in the other, some columns at a time.

    A line of memory that is read for one row is then still near for the next ones.
    """
    near = target.itemsize
    if not source.size or {target.strides[-1:], source.strides[-1:]} <= {(near,), ()}:
        target[...] = source
        return
    for k in range(0, source.shape[-1], COLUMNS):
        target[..., k : k + COLUMNS] = source[..., k : k + COLUMNS]


@dataclass(frozen=True)
class _Part:
    """Some rows of an axis, and where they are in its tiles."""

    rows: slice
    tiles: tuple[slice, ...]


def _parts(rows: int, tiles: Sequence[int]) -> list[_Part]:
    """Rows 0 .. rows-1 of an axis that is stored as nested tiles, as parts of whole tiles."""
    if not tiles:
        return [_Part(slice(0, rows), ())]  # an axis of size 1 is not stored
    out: list[_Part] = []
    done, path = 0, list[slice]()
    for depth in range(len(tiles)):
        size = math.prod(tiles[depth + 1 :])
        count = (rows - done) // size
        if count:
            inside = (slice(None) for _ in tiles[depth + 1 :])
            where = slice(done, done + count * size)
            out.append(_Part(where, (*path, slice(0, count), *inside)))
        done += count * size
        path.append(slice(count, count + 1))
    return out


def longest(
    shape: Sequence[Expr], bounds: Sequence[int], extents: Mapping[str, int]
) -> tuple[int, ...]:
    """The longest of each size over the points of a run; ``bounds`` are never below the sizes."""
    return tuple(
        _greatest(size, bound, extents) if size.dims else bound
        for size, bound in zip(shape, bounds, strict=True)
    )


def _greatest(size: Expr, bound: int, extents: Mapping[str, int]) -> int:
    dims = sorted(size.dims, key=str)
    known: dict[Dim | Extent, int] = {Extent(name): n for name, n in extents.items()}
    counts = [evaluate(d.extent, known) for d in dims]
    for corner in product(*({0, n - 1} for n in counts)):
        if evaluate(size, known | dict(zip(dims, corner, strict=True))) == bound:
            return bound
    point: dict[Dim | Extent, Any] = {**known}  # Python's integers, which do not overflow
    for k, (dim, count) in enumerate(zip(dims, counts, strict=True)):
        steps = np.array(range(count), object)
        point[dim] = steps.reshape(-1, *(1,) * (len(dims) - 1 - k))
    numbers: Numbers[Any] = Numbers(int, point.__getitem__, _extremum)
    return int(np.max(numbers.value(size)))


def _extremum(kind: str, values: Sequence[Any]) -> Any:
    chosen = np.minimum if kind == "min" else np.maximum
    return reduce(chosen, (np.asarray(x, object) for x in values))
