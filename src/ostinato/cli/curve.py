"""The learning curve of a run as a picture; needs the `plot` extra."""

# matplotlib leaves its **kwargs untyped, so every one of its methods is partly unknown:
# pyright: reportUnknownMemberType=false

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ostinato.cli.run_directory import Metrics
from ostinato.cli.spread import interval

SMOOTHING = 10  # iterations in the running mean
Numbers = npt.NDArray[np.float64]


def write_learning_curve(
    path: Path,
    kept: Metrics,
    metric: str,
    bar: float | None,
    trainings: Sequence[int] = (),
    labels: Sequence[str] = (),
) -> None:
    """Draw the metric over environment steps, its running mean, and the bar to reach.

    Of several trainings there is the mean of all seeds, which are those along the last axis, with
    an interval of 95 %; with ``labels`` one such line for each label.
    """
    rows = kept.rows
    steps = np.array([row.env_steps for row in rows])
    figure = Figure(figsize=(7, 4), dpi=120, layout="constrained")
    axes = figure.add_subplot()
    if trainings:
        _draw_trainings(axes, steps, kept.of_trainings(trainings), labels)
    else:
        values = np.array([row.metric for row in rows])
        axes.plot(steps, values, linewidth=0.8, alpha=0.4, label="each iteration")
        axes.plot(steps, running_mean(values), label=f"mean of {SMOOTHING} iterations")
    if bar is not None:
        axes.axhline(bar, linestyle="--", color="gray", linewidth=0.8, label=f"solved at {bar:g}")
    axes.set_xlabel("environment steps" + (" of a training" if trainings else ""))
    axes.set_ylabel(metric.replace("_", " "))
    axes.legend()
    figure.savefig(path)


def _draw_trainings(
    axes: Axes, steps: npt.NDArray[np.int64], values: Numbers, labels: Sequence[str]
) -> None:
    shown = labels or [f"mean of {values.shape[1]} seeds"]
    for label, seeds in zip(shown, values, strict=True):
        smooth = np.array([running_mean(seed) for seed in seeds])
        (line,) = axes.plot(steps, smooth.mean(0), label=label)
        low, high = interval(smooth)
        axes.fill_between(steps, low, high, color=line.get_color(), alpha=0.2, linewidth=0)


def running_mean(values: Numbers) -> Numbers:
    """Return the mean of each value and those before it, at most `SMOOTHING` of them."""
    padded = np.concatenate([np.zeros(SMOOTHING - 1), values])
    # Sums of their own: an infinity or NaN is in ten of them, and not in all later ones.
    windows = np.lib.stride_tricks.sliding_window_view(padded, SMOOTHING)
    with np.errstate(invalid="ignore"):  # infinities of both signs
        means: Numbers = windows.sum(-1) / np.minimum(np.arange(1, len(values) + 1), SMOOTHING)
    return means
