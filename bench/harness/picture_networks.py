"""Networks of convolutions that systems train beside each other, and what they are trained on."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

CHOICES = 6
PICTURES = {"dqn": (4, 84), "minatar": (4, 10), "residual": (3, 64)}  # channels, side
CONVOLUTIONS = {  # features, side of the kernel, stride
    "dqn": ((32, 8, 4), (64, 4, 2), (64, 3, 1)),
    "minatar": ((16, 3, 1),),
}
BLOCKS = (16, 32, 32)  # features: a convolution, pooling by 2, two residual parts
HIDDEN = {"dqn": 512, "minatar": 128, "residual": 256}


def flat_size(network: str) -> int:
    """The numbers that the convolutions leave of a picture."""
    _, side = PICTURES[network]
    if network == "residual":
        return BLOCKS[-1] * (side >> len(BLOCKS)) ** 2
    for _, size, stride in CONVOLUTIONS[network]:
        side = (side - size) // stride + 1
    return CONVOLUTIONS[network][-1][0] * side**2


def samples(network: str, batch: int) -> tuple[npt.NDArray[np.float32], npt.NDArray[np.int32]]:
    """Return pictures (batch, channels, side, side) and a label for each."""
    rng, (channels, side) = np.random.default_rng(0), PICTURES[network]
    x = rng.normal(size=(batch, channels, side, side)).astype(np.float32)
    return x, rng.integers(0, CHOICES, batch).astype(np.int32)
