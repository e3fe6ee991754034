"""Arenas without zeros, so that no result depends on memory that nothing has written."""

from __future__ import annotations

from collections.abc import Sequence
from unittest import mock

import numpy as np
import numpy.typing as npt

from ostinato.runtime.run import executor, frame
from ostinato.runtime.run.arrays import Array, empty_arena
from ostinato.runtime.run.result_pool import Pool


def poisoned(size_bytes: int) -> npt.NDArray[np.uint8]:
    """An arena of NaN and -1."""
    arena = empty_arena(size_bytes)
    arena[...] = 0xFF
    return arena


class PoisonedPool(Pool):
    """A pool that forgets what its blocks held."""

    def empty(self, shape: Sequence[int], dtype: npt.DTypeLike) -> Array:
        found = super().empty(shape, dtype)
        found.reshape(-1).view(np.uint8)[...] = 0xFF
        return found


def poison_arenas() -> None:
    """Make every later arena of this process a poisoned one, and every later result."""
    mock.patch.object(executor, "empty_arena", poisoned).start()
    mock.patch.object(frame, "RESULTS", PoisonedPool()).start()
