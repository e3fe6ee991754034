"""What the workers of one run did, as numbers: where their time went, and when."""

from __future__ import annotations

from dataclasses import dataclass


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
