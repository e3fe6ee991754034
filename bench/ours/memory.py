"""Training through many steps, and decoding of many tokens, in a part of the usual memory."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable
from typing import Any

import numpy as np

import ostinato as ot
from bench.ours.models import HEADS, WIDTH, Transformer, generation
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
        seconds = taken_s(compiled, **extents, seed=0)
        return {
            "steps/s": UPDATES * steps * batch / seconds,
            "peak_bytes": float(peak(compiled, extents)),
            "again": again / steps,
            "again_at_least": least / steps,
        }

    return sample


def history(
    width: int, batch: int, steps: int, percent: int, cache: str = "kept"
) -> Callable[[], dict[str, float]]:
    """Return a sampler of the same gradient, of which a file has the histories.

    With ``percent`` 100 memory has them. A ``cache`` that is "dropped" is that of the disk: all
    that leaves memory is written, and read again. ``over_limit`` is how many times the limit the
    histories are.
    """
    program, extents = gated(width), {"B": batch, "T": steps, "I": UPDATES}
    compiled = program.compile(hints=extents)
    if percent < 100:
        os.environ["OSTINATO_SPILL_CACHE"] = "0" if cache == "dropped" else "1"
        limit = peak(compiled, extents) * percent // 100
        compiled = program.compile(
            hints=extents,
            memory_limit=limit,
            spill=True,
            without=["computing again", "late readers", "segments"],
        )
    use = compiled.explain(**extents).memory

    def sample() -> dict[str, float]:
        seconds = taken_s(compiled, **extents, seed=0)
        return {
            "steps/s": UPDATES * steps * batch / seconds,
            "peak_bytes": float(use.predicted_peak_bytes),
            "over_limit": use.file_bytes / use.predicted_peak_bytes,
        }

    return sample


def decode(
    layers: int, batch: int, steps: int, limit_mib: int = 0
) -> Callable[[], dict[str, float]]:
    """Return a sampler of tokens in a second, and bytes of the peak.

    With ``limit_mib`` keys and values lie in a file, and each step reads all of them.
    """
    model, rng = Transformer(layers, WIDTH, HEADS, steps), np.random.default_rng(0)
    shapes = {w.argument("weights"): w.tensor.shape for w in model.named_weights()}
    given = {n: (0.05 * rng.normal(size=s)).astype(np.float32) for n, s in shapes.items()}
    extents: dict[str, Any] = {"B": batch, "T": steps}
    options: dict[str, Any] = {"memory_limit": limit_mib << 20, "spill": True} if limit_mib else {}
    compiled = generation(model, 0).compile(hints=extents, **options)
    use = compiled.explain(**extents).memory
    if use.unplanned:
        raise ValueError(f"{', '.join(use.unplanned)} has no plan")

    def sample() -> dict[str, float]:
        seconds = taken_s(compiled, **extents, **given)
        return {"tokens/s": steps * batch / seconds, "peak_bytes": float(use.predicted_peak_bytes)}

    return sample


def taken_s(compiled: Compiled, **arguments: Any) -> float:
    begun = time.perf_counter()
    compiled(**arguments)
    return time.perf_counter() - begun


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
