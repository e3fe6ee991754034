"""Arenas without zeros, so that no result depends on memory that nothing has written."""

from __future__ import annotations

from unittest import mock

import numpy as np
import numpy.typing as npt

from ostinato.runtime import executor
from ostinato.runtime.arrays import empty_arena


def poisoned(size_bytes: int) -> npt.NDArray[np.uint8]:
    """An arena of NaN and -1."""
    arena = empty_arena(size_bytes)
    arena[...] = 0xFF
    return arena


def poison_arenas() -> None:
    """Make every later arena of this process a poisoned one."""
    mock.patch.object(executor, "empty_arena", poisoned).start()
