"""Learning curves with bands, one drawing for each environment."""

# matplotlib leaves its **kwargs untyped, so every one of its methods is partly unknown:
# pyright: reportUnknownMemberType=false

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from bench.learning.tasks import Task
from bench.learning.training import Curve
from ostinato.cli.spread import interval

COLUMNS = 3


def draw(tasks: Sequence[Task], curves: Sequence[Curve], path: Path) -> None:
    """Draw the mean over seeds of every task, and its interval of 95 %."""
    environments = list(dict.fromkeys(task.environment for task in tasks))
    rows = -(-len(environments) // COLUMNS)
    figure = Figure(figsize=(5 * COLUMNS, 3.4 * rows), dpi=110, layout="constrained")
    for number, environment in enumerate(environments):
        axes = figure.add_subplot(rows, COLUMNS, number + 1)
        for task in tasks:
            if task.environment == environment:
                _draw_task(axes, task, [each for each in curves if each.task == task.name])
        axes.set_title(environment)
        axes.set_xlabel("environment steps")
        axes.set_ylabel("mean return of the last episodes")
        axes.legend(fontsize=8)
    figure.savefig(path)


def _draw_task(axes: Axes, task: Task, curves: Sequence[Curve]) -> None:
    if not curves:
        return
    steps = np.mean([each.steps for each in curves], axis=0)
    returns = np.array([each.returns for each in curves])
    (line,) = axes.plot(steps, returns.mean(0), label=task.algorithm)
    low, high = interval(returns)
    axes.fill_between(steps, low, high, color=line.get_color(), alpha=0.2, linewidth=0)
    if task.bar is not None:
        axes.axhline(task.bar, linestyle="--", color="gray", linewidth=0.6)
