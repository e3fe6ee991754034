"""The memory of a run on a device: an arena there, and one on the host of the same layout.

That of the host holds arguments on their way to the device, and what is read of results, records
and states; the rest of it is never touched, and takes no memory.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from ostinato.runtime.machine_code.arena_layout import Layout
from ostinato.runtime.run.arrays import Array
from ostinato.runtime.run.artifact import Artifact
from ostinato.runtime.run.device import Memory
from ostinato.runtime.run.frame import Frame

MANY = 32  # copies from a device take longer than one of all that lies between them


class DeviceFrame(Frame):
    """A frame whose workers are on a device."""

    def __init__(
        self,
        artifact: Artifact,
        extents: Mapping[str, int],
        workers: int,
        layout: Layout,
        arena: npt.NDArray[np.uint8],
        memory: Memory,
    ) -> None:
        """Find the places in both arenas."""
        super().__init__(artifact, extents, workers, layout, arena)
        self.memory = memory

    def direct(self, inputs: Mapping[str, Array]) -> dict[str, Array]:
        """No tensor lies elsewhere: the device finds everything in its arena."""
        return {}

    def fetch(self, parts: Iterable[Array]) -> None:
        """Copy parts of the arena to the device."""
        for part in parts:
            for first, end in stretches(part, self._address):
                self.memory.put(first, self.arena[first:end])

    def fetch_arguments(self) -> None:
        self.fetch(each.entrance.view for each in self.arguments)

    def offload(self, parts: Iterable[Array]) -> None:
        """Copy parts of the arena from the device; what lies between is of the same tensor."""
        for part in parts:
            for first, end in together([*stretches(part, self._address)]):
                self.memory.take(first, self.arena[first:end])


def stretches(part: Array, origin: int) -> Iterator[tuple[int, int]]:
    """The bytes of a part of an array, in order, as few stretches: from where to where.

    >>> square = np.zeros((4, 8), np.uint8)
    >>> [*stretches(square[1:3], square.ctypes.data)]
    [(8, 24)]
    >>> [*stretches(square[:2, 2:4], square.ctypes.data)]
    [(2, 4), (10, 12)]
    """
    if not part.size:
        return
    depth = 0
    while not _piece(part, (0,) * depth).flags.c_contiguous:
        depth += 1
    for at in np.ndindex(part.shape[:depth]):
        piece = _piece(part, at)
        first = piece.ctypes.data - origin
        yield first, first + piece.nbytes


def together(found: Sequence[tuple[int, int]]) -> Sequence[tuple[int, int]]:
    """Stretches of one tensor, or if they are many a single one with all between them.

    >>> together([(2, 4), (10, 12)])
    [(2, 4), (10, 12)]
    >>> together([(8 * k, 8 * k + 2) for k in range(100)])
    [(0, 794)]
    """
    return found if len(found) <= MANY else [(found[0][0], found[-1][1])]


def _piece(part: Array, at: tuple[int, ...]) -> Array:
    whole: tuple[Any, ...] = (*at, ...)  # an array even where no axis is left
    piece: Array = part[whole]
    return piece
