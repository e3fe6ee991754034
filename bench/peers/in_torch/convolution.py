"""A convolution in PyTorch."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch

from bench.harness.timing import rates


def sampler(batch: int, channels: int, size: int) -> Callable[[], float]:
    rng = np.random.default_rng(0)
    x = torch.from_numpy(rng.standard_normal((batch, channels, size, size)).astype(np.float32))
    w = torch.from_numpy(rng.standard_normal((channels, channels, 3, 3)).astype(np.float32))

    def run(iterations: int) -> None:
        with torch.inference_mode():
            for _ in range(iterations):
                torch.nn.functional.conv2d(x, w, padding=1)

    return rates(run, batch)
