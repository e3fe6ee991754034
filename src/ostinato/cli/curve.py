"""The learning curve of a run as a picture; needs the `plot` extra."""

# matplotlib leaves its **kwargs untyped, so every one of its methods is partly unknown:
# pyright: reportUnknownMemberType=false

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt
from matplotlib.figure import Figure

from ostinato.cli.training import Row

SMOOTHING = 10  # iterations in the running mean


def write_learning_curve(path: Path, rows: Sequence[Row], metric: str, bar: float | None) -> None:
    """Draw the metric over environment steps, its running mean, and the bar to reach."""
    steps = np.array([row.env_steps for row in rows])
    values = np.array([row.metric for row in rows])
    figure = Figure(figsize=(7, 4), dpi=120, layout="constrained")
    axes = figure.add_subplot()
    axes.plot(steps, values, linewidth=0.8, alpha=0.4, label="each iteration")
    axes.plot(steps, running_mean(values), label=f"mean of {SMOOTHING} iterations")
    if bar is not None:
        axes.axhline(bar, linestyle="--", color="gray", linewidth=0.8, label=f"solved at {bar:g}")
    axes.set_xlabel("environment steps")
    axes.set_ylabel(metric.replace("_", " "))
    axes.legend()
    figure.savefig(path)


def running_mean(values: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Return the mean of each value and those before it, at most `SMOOTHING` of them."""
    total = np.concatenate([[0.0], np.cumsum(values)])
    ends = np.arange(1, len(values) + 1)
    starts = np.maximum(ends - SMOOTHING, 0)
    means: npt.NDArray[np.float64] = (total[ends] - total[starts]) / (ends - starts)
    return means
