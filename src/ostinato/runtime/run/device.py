"""Devices that run compiled programs: what is asked of one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple, Protocol

import numpy as np
import numpy.typing as npt


class Copied(NamedTuple):
    """Bytes of the arena that go to a device before a run, or come from it after one."""

    first: int
    end: int


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

    def run(
        self,
        arena: npt.NDArray[np.uint8],
        there: Sequence[Copied],
        back: Sequence[Copied],
        table: npt.NDArray[np.int64],
        control: npt.NDArray[np.int64],
        stride: int,
        seed: int,
        blocks: int,
        extents: Mapping[str, int],
    ) -> None:
        """Run the driver on the bytes of an arena."""
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
