"""One task with one seed after the other, and what came of it."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from bench.learning.tasks import Task
from ostinato import rl
from ostinato.cli.train import algorithms

POINTS = 50  # of a curve
Numbers = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Curve:
    """The mean return of the last episodes of a training at every point, with equal step counts.

    ``reached`` is the number of environment steps after which the bar was reached, or None.
    """

    task: str
    seed: int
    steps: tuple[int, ...]
    returns: tuple[float, ...]
    reached: int | None
    final: float
    cpu_s: float


def train(task: Task, seeds: int) -> Iterator[Curve]:
    """Compile a task once, and train with each seed."""
    training = algorithms()[task.algorithm](rl.make(task.environment), **task.settings)
    run = training.program.compile()
    extent = str(training.over).upper()
    arguments = {**training.arguments, extent: -(-task.steps // training.steps_per_record)}
    for seed in range(seeds):
        started = time.process_time()
        found = run(seed=seed, **arguments)
        spent = time.process_time() - started
        yield _curve(task, seed, found, training.steps_per_record, spent)


def _curve(
    task: Task, seed: int, found: Mapping[str, npt.NDArray[np.generic]], per_record: int, cpu: float
) -> Curve:
    returns = found["episode_return"].astype(np.float64)
    episodes = found["episodes"].astype(np.float64)
    means = mean_of_last(returns, episodes, task.episodes)
    played: Numbers = np.arange(1.0, len(returns) + 1.0, dtype=np.float64) * per_record
    if task.algorithm in ("reinforce", "evolution"):  # whose episodes may be shorter than all steps
        played = np.cumsum(found["episode_length"].astype(np.float64) * episodes)
    points: Numbers = np.arange(1.0, POINTS + 1.0, dtype=np.float64) * (played[-1] / POINTS)
    at = np.minimum(np.searchsorted(played, points), len(played) - 1)
    known = np.cumsum(episodes) >= task.episodes
    over = np.zeros(0, int) if task.bar is None else np.flatnonzero(known & (means >= task.bar))
    reached = int(played[over[0]]) if len(over) else None
    return Curve(
        task.name, seed, tuple(int(x) for x in points),
        tuple(round(float(x), 3) for x in means[at]), reached, float(means[-1]), cpu,
    )  # fmt: skip


def mean_of_last(returns: Numbers, episodes: Numbers, count: int) -> Numbers:
    """Return the mean return of the last episodes at every record: at least ``count``, if so many.

    A record has the mean over the episodes that ended in it; whole records are counted.
    """
    ended, total = (np.concatenate([[0.0], np.cumsum(x)]) for x in (episodes, returns * episodes))
    starts = np.maximum(np.searchsorted(ended, ended[1:] - count, side="right") - 1, 0)
    counted = ended[1:] - ended[starts]
    means: Numbers = (total[1:] - total[starts]) / np.maximum(counted, 1.0)
    return means
