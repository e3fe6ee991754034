"""The loop behind ``ostinato run``: records in, rows out, until solved, interrupted or done."""

from __future__ import annotations

import signal
import time
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from types import FrameType
from typing import Literal, Protocol

import numpy as np
import numpy.typing as npt

from ostinato.compiler.experiment import Experiment, Solved
from ostinato.runtime.run.state import State

End = Literal["finished", "solved", "interrupted"]
Episodes = Sequence[Sequence[float]]  # the last returns of every training


class Record(Protocol):
    """One step of the outermost dimension; the program's outputs are attributes."""

    @property
    def index(self) -> int: ...


class Records(Protocol):
    """A running program; `close` stops its compiled loop at the next iteration boundary.

    ``state`` is that after the last record, where the program was asked for states.
    """

    def __iter__(self) -> Iterator[Record]: ...

    @property
    def state(self) -> State: ...

    def close(self) -> None: ...


@dataclass(frozen=True, slots=True)
class Column:
    """A number of every record: one element of an output, or without one the mean of all."""

    name: str
    output: str
    element: tuple[int, ...] = ()

    def of(self, record: Record) -> float:
        values = output(record, self.output)
        return float((values[self.element] if self.element else values).mean())


@dataclass(frozen=True, slots=True)
class Row:
    """One line of metrics.csv; `others` are the remaining columns."""

    iteration: int
    env_steps: int
    wall_s: float
    metric: float  # of `Experiment.metric`
    others: tuple[float, ...] = ()

    def values(self) -> tuple[int | float, ...]:
        return (self.iteration, self.env_steps, self.wall_s, self.metric, *self.others)


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a run ended, and its last row."""

    end: End
    last: Row | None


class Keeper(Protocol):
    """What keeps checkpoints of a run: after some steps, and at its end."""

    every: int

    def keep(self, state: State, episodes: Episodes, end: End | None) -> None: ...


class SolvedJudge:
    """Keeps the last episodes of every training and says when their means reach the bar."""

    def __init__(self, criterion: Solved, episodes: Episodes = ()) -> None:
        self._criterion = criterion
        self._recent: list[deque[float]] = [self._last(each) for each in episodes]

    def _last(self, episodes: Sequence[float]) -> deque[float]:
        return deque(episodes, maxlen=self._criterion.mean_of_last)

    @property
    def recent(self) -> list[list[float]]:
        """The last episodes of every training."""
        return [[*each] for each in self._recent]

    def add(self, record: Record) -> bool:
        """Take one record's episodes and return whether the bar is reached now."""
        ended = self._ended(record)
        if not self._recent:
            self._recent = [self._last(()) for _ in ended]
        for recent, episodes in zip(self._recent, ended, strict=True):
            recent.extend(episodes.tolist())
        return all(map(self._is_solved, self._recent))

    def _ended(self, record: Record) -> list[npt.NDArray[np.floating]]:
        """The returns of the episodes that ended in a record, for every training."""
        criterion = self._criterion
        values = output(record, criterion.metric).ravel()
        if hasattr(record, criterion.episodes):
            counts = output(record, criterion.episodes).ravel().astype(int)
            return [np.repeat(*pair) for pair in zip(values, counts, strict=True)]
        return [np.repeat(values, criterion.episodes_per_record) if values.size == 1 else values]

    def _is_solved(self, recent: deque[float]) -> bool:
        is_full = len(recent) == self._criterion.mean_of_last
        return is_full and float(np.mean(recent)) >= self._criterion.at_least


@dataclass(frozen=True, slots=True)
class Before:
    """What was before the first record: the last episodes of every training, seconds, steps."""

    episodes: Episodes = ()
    wall_s: float = 0.0
    env_steps: int = 0


def train(
    experiment: Experiment,
    records: Records,
    sinks: Sequence[Callable[[Row], None]],
    columns: Sequence[Column] = (),
    keeper: Keeper | None = None,
    before: Before = Before(),  # noqa: B008 — it is frozen
) -> Outcome:
    """Hand each record as a row to every sink until the records end, it is solved, or Ctrl-C.

    The ``keeper`` gets the state after some records, and after the last one.
    The records are closed on every way out, so the compiled loop never outlives the call.
    """
    judge = SolvedJudge(experiment.stop, before.episodes) if experiment.stop else None
    started, last = time.perf_counter() - before.wall_s, None
    end: End = "finished"
    env_steps = before.env_steps
    try:
        with interruption() as is_interrupted:
            for record in records:
                wall_s = time.perf_counter() - started
                env_steps += steps_of(experiment, record)
                last = row_of(experiment, record, wall_s, env_steps, columns)
                for sink in sinks:
                    sink(last)
                if judge and judge.add(record):
                    end = "solved"
                elif is_interrupted():
                    end = "interrupted"
                if end != "finished":
                    break
                if keeper and (record.index + 1) % keeper.every == 0:
                    keeper.keep(records.state, judge.recent if judge else (), None)
    finally:
        records.close()
    if keeper and last is not None:
        keeper.keep(records.state, judge.recent if judge else (), end)
    return Outcome(end, last)


def steps_of(experiment: Experiment, record: Record) -> int:
    """Return how many environment steps a record took, of several trainings their mean."""
    if not experiment.steps_taken:
        return experiment.steps_per_record
    taken: npt.NDArray[np.floating] = np.ones(())
    for name in experiment.steps_taken:
        taken = taken * output(record, name)
    return round(float(taken.mean()))


def row_of(
    experiment: Experiment,
    record: Record,
    wall_s: float,
    env_steps: int,
    columns: Iterable[Column],
) -> Row:
    return Row(
        iteration=record.index,
        env_steps=env_steps,
        wall_s=wall_s,
        metric=float(output(record, experiment.metric).mean()),
        others=tuple(column.of(record) for column in columns),
    )


def output(record: Record, name: str) -> npt.NDArray[np.floating]:
    """Return one output of a record as an array."""
    given: object = getattr(record, name)
    return np.asarray(given)


@contextmanager
def interruption() -> Generator[Callable[[], bool]]:
    """Turn the first Ctrl-C into a flag; the second one interrupts as usual."""
    seen = False
    before = signal.getsignal(signal.SIGINT)

    def note(number: int, frame: FrameType | None) -> None:
        nonlocal seen
        seen = True
        signal.signal(signal.SIGINT, before)

    signal.signal(signal.SIGINT, note)
    try:
        yield lambda: seen
    finally:
        signal.signal(signal.SIGINT, before)
