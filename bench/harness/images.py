"""A game of images that ostinato and its peers call from outside; needs NumPy only."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

UPDATES = 2
DISCOUNT, RATE = 0.99, 0.01
Frames = npt.NDArray[np.float32]


def shown(action: npt.NDArray[np.int32], pixels: int) -> tuple[Frames, Frames]:
    """Return the next image of every game, brighter after action 1, and the rewards."""
    chosen = np.asarray(action)[:, None].astype(np.float32)
    light = np.linspace(0.0, 1.0, pixels, dtype=np.float32)
    return np.add(light, 0.1 * chosen, dtype=np.float32), (chosen[:, 0] == 1).astype(np.float32)
