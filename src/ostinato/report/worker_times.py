"""What the workers of one run did, as numbers, and what more of them would gain."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from ostinato.report.kernels import duration


@dataclass(frozen=True, slots=True)
class Slice:
    """A stretch of a worker's time that belongs to one slot, in nanoseconds of one clock."""

    slot: int
    start_ns: int
    end_ns: int


@dataclass(frozen=True, slots=True)
class Mark:
    """A loop of the driver reached a value; -1: it is over."""

    loop: int
    value: int
    at_ns: int


@dataclass(frozen=True, slots=True)
class Track:
    """One worker from its first stamp to its last.

    ``kernels`` and ``waits`` are nanoseconds by number, and add up to its time; ``calls`` counts
    calls of the kernels. ``events`` are its first slices and marks, all of them unless it is
    ``cut``.
    """

    start_ns: int
    end_ns: int
    kernels: tuple[int, ...]
    calls: tuple[int, ...]
    waits: tuple[int, ...]
    events: tuple[Slice | Mark, ...]
    cut: bool


COUNTS = (1, 2, 4, 8, 16, 32, 64)
"""The numbers of workers that a run is predicted for."""


@dataclass(frozen=True, slots=True)
class WorkerShares:
    """``predicted_ns`` of a run by workers; how many a call of each kernel employs at most."""

    predicted_ns: Mapping[int, float] = field(default_factory=dict[int, float])
    employed: Mapping[str, int] = field(default_factory=dict[str, int])

    def __str__(self) -> str:
        """Print the speed that is predicted for more workers, and who has work.

        >>> print(WorkerShares({1: 8e6, 2: 5e6}, {"k0": 64, "k1": 1}))
        workers  predicted  times as fast
              1       8 ms            1.0
              2       5 ms            1.6
        items of a call, each done by one worker: k0 64, k1 1
        """
        rows = [("workers", "predicted", "times as fast")]
        alone = self.predicted_ns.get(1, 0.0)
        for count, ns in self.predicted_ns.items():
            rows.append((str(count), duration(ns), f"{alone / ns:.1f}" if ns else "-"))
        lines = [f"{a:>7}  {b:>9}  {c:>13}" for a, b, c in rows]
        items = ", ".join(f"{name} {count}" for name, count in self.employed.items())
        return "\n".join([*lines, f"items of a call, each done by one worker: {items}"])
