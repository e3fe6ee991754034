"""Devices that run compiled programs: what is asked of one."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

Bytes = npt.NDArray[np.uint8]
Wait = Callable[[], None]
Note = Callable[[str, int, int], None]  # a phase, and the nanoseconds at its start and its end


class Arguments(NamedTuple):
    """What a driver takes besides memory; words of ``control`` are read and written."""

    table: npt.NDArray[np.int64]
    control: npt.NDArray[np.int64]
    stride: int
    seed: int
    blocks: int
    extents: tuple[int, ...]


class Memory(Protocol):
    """An arena on a device, and a driver that runs on it; its contents are arbitrary at first."""

    @property
    def size_bytes(self) -> int: ...

    def put(self, first: int, body: Bytes) -> None:
        """Copy bytes to the device."""
        ...

    def take(self, first: int, out: Bytes) -> None:
        """Copy bytes from the device."""
        ...

    def run(self, given: Arguments) -> Wait:
        """Begin to run the driver, and return what waits for its end and reads the words."""
        ...

    def run_apart(self, given: Arguments, note: Note) -> None:
        """Run the driver with a launch for each phase, each of which is waited for and noted."""
        ...


class Loaded(Protocol):
    """A module on a device."""

    @property
    def form(self) -> str:
        """How its driver is run, and why so."""
        ...

    @property
    def blocks(self) -> int:
        """The most blocks that run at once."""
        ...

    def memory(self, size_bytes: int) -> Memory:
        """An arena.

        Errors: MemoryLimitError.
        """
        ...

    def ready_apart(self) -> int:
        """Compile what `run_apart` launches, and return the nanoseconds of an empty launch."""
        ...


def form(phases: int, repeats: bool, can_cooperate: bool) -> tuple[bool, str]:
    """Whether a driver is one cooperative kernel, and how it is run and why.

    >>> form(1, False, True)
    (False, 'one launch, as there is one phase')
    """
    if phases == 1 and not repeats:
        return False, "one launch, as there is one phase"
    told = f"{phases} phases, some in loops" if repeats else f"{phases} phases"
    if can_cooperate:
        return True, f"one cooperative launch for {told}: all blocks are resident, and meet"
    return False, f"a launch for each of {told}: the device has no cooperative launches"


class Device(Protocol):
    """A device, by its name."""

    @property
    def name(self) -> str: ...

    @property
    def memory_bytes(self) -> int:
        """What arenas have room in."""
        ...

    def load(self, source: str, directory: Path | None) -> Loaded: ...
