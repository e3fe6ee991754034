"""Measured runs: the driver that stamps the time, the log it fills, and what the log says."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from ostinato.report.worker_times import Mark, Slice, Track
from ostinato.runtime.machine_code.ports import Profiled
from ostinato.runtime.machine_code.source_module import load_driver

ROOM = 20_000  # events that a worker keeps: more would be no picture to look at
HEAD, EVENT_WORDS = 8, 3
COUNT, LAST, CAPACITY, EVENTS, FIRST, SIZE = range(6)


@dataclass(frozen=True)
class Stamping:
    """A driver that stamps the time, ready to run."""

    entry: Callable[..., None]
    made: Profiled


def load_stamping(made: Profiled) -> Stamping:
    """Compile the driver, or load it from the cache."""
    return Stamping(load_driver(made.units), made)


@dataclass(kw_only=True)
class RunLog(ABC):
    """What is noted of one run: when Python began and ended its part, and what workers did.

    Waits and loops are those of `Profiled`; the ``note`` says how the run differed from others.
    """

    workers: int
    times: dict[str, int] = field(default_factory=dict[str, int])
    host_ns: float = 0.0  # in Python functions that compiled code called
    waits: tuple[tuple[int, ...], ...] = ()
    loops: tuple[str, ...] = ()
    note: str = ""

    def now(self, name: str) -> None:
        """Note when something began."""
        self.times[name] = time.perf_counter_ns()

    @abstractmethod
    def tracks(self) -> tuple[Track, ...]:
        """What every worker did that began before all was done."""


@dataclass(kw_only=True)
class Log(RunLog):
    """The words that the workers of one run fill, who stamp the time."""

    stamping: Stamping
    room: int = ROOM
    words: npt.NDArray[np.int64] = field(init=False)

    def __post_init__(self) -> None:
        self.waits, self.loops = self.stamping.made.waits, self.stamping.made.loops
        events = HEAD + 2 * self.slots
        size = -(-(events + EVENT_WORDS * self.room) // 8) * 8  # workers share no cache line
        self.words = np.zeros(size * self.workers, np.int64)
        for own in range(0, len(self.words), size):
            self.words[own + CAPACITY], self.words[own + EVENTS] = self.room, own + events
            self.words[own + SIZE] = size
        self.words[:: 4096 // 8] += 0  # the first use of a page is no time of the program
        self.now("begin")

    @property
    def slots(self) -> int:
        return len(self.stamping.made.kernels) + len(self.waits)

    def tracks(self) -> tuple[Track, ...]:
        each = np.split(self.words, self.workers)
        return tuple(self._track(words) for words in each if words[FIRST])

    def _track(self, words: npt.NDArray[np.int64]) -> Track:
        kernels = len(self.stamping.made.kernels)
        totals = words[HEAD : HEAD + 2 * self.slots].reshape(-1, 2)
        start = HEAD + 2 * self.slots
        events = words[start : start + EVENT_WORDS * int(words[COUNT])].reshape(-1, EVENT_WORDS)
        found: list[Slice | Mark] = [
            Slice(slot, first, last) if slot >= 0 else Mark(-1 - slot, first, last)
            for slot, first, last in events.tolist()
        ]
        return Track(
            int(words[FIRST]),
            int(words[LAST]),
            tuple(totals[:kernels, 0].tolist()),
            tuple(totals[:kernels, 1].tolist()),
            tuple(totals[kernels:, 0].tolist()),
            tuple(found),
            int(words[COUNT]) == self.room,
        )
