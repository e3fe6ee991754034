"""REINFORCE whose episodes truly end: the example, measured in useful steps."""

from __future__ import annotations

import time
from collections.abc import Callable

from bench.ours.compiled import EXAMPLES
from ostinato.cli.program_file import load_experiment


def sampler(episodes: int, steps: int, updates: int) -> Callable[[], float]:
    experiment = load_experiment(str(EXAMPLES / "reinforce_ragged.py"), [])
    compiled = experiment.program.compile()
    extents = {"B": episodes, "T": steps, "I": updates}
    seeds = iter(range(1_000_000))

    def sample() -> float:
        start = time.perf_counter()
        found = compiled(**{**experiment.arguments, **extents, "seed": next(seeds)})
        seconds = time.perf_counter() - start
        # One point of reward per step: the mean return is the mean length.
        return float(found["episode_return"].sum()) * episodes / seconds

    return sample
