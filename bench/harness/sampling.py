"""Alternating measurements: every round runs each program once, so drift hits all alike."""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Refused:
    """Why there are no samples of a program."""

    reason: str


@dataclass(frozen=True, slots=True)
class Spread:
    """The median of some samples with their extremes."""

    median: float
    low: float
    high: float


def spread(samples: Sequence[float]) -> Spread:
    return Spread(statistics.median(samples), min(samples), max(samples))


REST_S = 0.5  # before every sample: idle threads of the program before it may still look for work


def alternate(
    programs: Mapping[str, Callable[[], T]],
    rounds: int,
    warm_up: bool = True,
    rest_s: float = REST_S,
    budget_s: float = math.inf,
) -> dict[str, list[T] | Refused]:
    """Return each program's samples, one per round, after one run of each to warm up.

    A program that raises ChildProcessError takes no further turn: its samples are the reason why.
    No round but the first begins when the budget is spent.
    """
    samples: dict[str, list[T]] = {name: [] for name in programs}
    refused: dict[str, Refused] = {}

    def turn(name: str) -> list[T]:
        try:
            return [programs[name]()]
        except ChildProcessError as error:
            refused[name] = Refused(str(error))
            return []

    for name in programs if warm_up else ():
        turn(name)
    started = time.monotonic()
    for done in range(rounds):
        if done and time.monotonic() - started > budget_s:
            break
        for name in programs:
            if name not in refused:
                time.sleep(rest_s)
                samples[name] += turn(name)
    return {**samples, **refused}
