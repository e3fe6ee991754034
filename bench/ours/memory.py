"""Training of a gated recurrent unit through many steps, in a part of its usual memory."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from typing import Any

import ostinato as ot
from ostinato import nn, optim
from ostinato.compiler.compiled import Compiled

UPDATES = 2  # the second one needs the gradient of the first


def gated(width: int) -> ot.Program:
    """Return the loss of every update; the inputs are drawn, and take no memory."""
    b, i, t = ot.dims("b i t")
    x = ot.random.normal((width,), over=(b, i, t))
    model = nn.GRU(width, width, over=i)
    loss = ot.square(model(x, t))[:, i, -1].mean()
    model.update(optim.SGD(0.01), loss)
    return ot.Program(loss=loss)


def gradient(
    width: int, batch: int, steps: int, percent: int, spill: int = 0
) -> Callable[[], dict[str, float]]:
    """Return a sampler of steps in a second, bytes of the peak, and what is computed again."""
    program, extents = gated(width), {"B": batch, "T": steps, "I": UPDATES}
    usual = peak(program.compile(hints=extents), extents)
    options: dict[str, Any] = {}
    if percent < 100:
        options |= {"memory_limit": usual * percent // 100, "spill": bool(spill)}
    compiled = program.compile(hints=extents, **options)
    again, least = computed_again(compiled.explain().schedule)

    def sample() -> dict[str, float]:
        begun = time.perf_counter()
        compiled(**extents, seed=0)
        seconds = time.perf_counter() - begun
        return {
            "steps/s": UPDATES * steps * batch / seconds,
            "peak_bytes": float(peak(compiled, extents)),
            "again": again / steps,
            "again_at_least": least / steps,
        }

    return sample


def peak(compiled: Compiled, extents: dict[str, int]) -> int:
    return compiled.explain(**extents).memory.predicted_peak_bytes


def computed_again(schedule: str) -> tuple[int, int]:
    """Return the steps that segments compute again, and how many any scheme of theirs would.

    >>> computed_again("at 9 steps: 1,200 steps are computed again, 1,000 by any scheme")
    (1200, 1000)
    """
    found = re.search(r"([\d,]+) steps are computed again, ([\d,]+) by", schedule)
    again, least = found.groups() if found else ("0", "0")
    return int(again.replace(",", "")), int(least.replace(",", ""))
