"""Devices that run compiled programs: what is asked of one, and which one this machine has."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from ostinato.pdg.errors import OptionError


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

    def load(self, source: str, directory: Path | None) -> Loaded: ...


def missing() -> str:
    """What a CUDA target lacks on this machine; "" if nothing."""
    try:
        version("numba-cuda")
    except PackageNotFoundError:
        return "the package numba-cuda is not installed"
    from ostinato.runtime.run.cuda_device import unavailable  # most runs need none of it

    return unavailable()


def find() -> Device:
    """The device of this machine.

    Errors: OptionError.
    """
    if lacks := missing():
        remedy = (
            "Install ostinato[cuda12] or ostinato[cuda13] on a machine with an NVIDIA GPU and its "
            'driver, or compile with target="cpu".'
        )
        raise OptionError(f'target="cuda" cannot run here: {lacks}', remedy)
    from ostinato.runtime.run.cuda_device import CudaDevice

    return CudaDevice()
