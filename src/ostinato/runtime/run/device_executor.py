"""Running a compiled program on a device: its arena is one allocation there.

What a run takes is copied to the device, and what it returns from there, as bytes of an arena of
the same layout. The words by which the host stops a run are read at its end.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ostinato.pdg.errors import OptionError
from ostinato.pdg.limits import require_memory, too_large
from ostinato.runtime.machine_code.ports import Field
from ostinato.runtime.machine_code.source_module import Loaded
from ostinato.runtime.run import cuda_device
from ostinato.runtime.run.arrays import stored_bytes
from ostinato.runtime.run.artifact import Artifact, Layout
from ostinato.runtime.run.device import Copied
from ostinato.runtime.run.executor import Bound, Executable, Execution
from ostinato.runtime.run.explanation import Explanation

if TYPE_CHECKING:
    from ostinato.runtime.machine_code.piecewise import Making
    from ostinato.runtime.run.frame import Frame
    from ostinato.runtime.run.state import Pausing
    from ostinato.runtime.run.timing import Log


class Ended:
    """The work of a run that was waited for."""

    def wait(self, limit_s: float = math.inf) -> None:
        """Return at once."""

    def is_late(self) -> bool:
        return False

    def is_running(self) -> bool:
        return False


class DeviceExecution(Execution):
    """One run, which is over when it is made."""

    def _started(self, is_awaited: bool) -> Ended:  # type: ignore[override]  # as workers are used
        frame, program = self.frame, self.program
        assert isinstance(program, DeviceExecutable), "devices run programs for devices"
        interface = program.artifact.interface
        program.module.run(
            frame.arena,
            tuple(_ranges(frame, interface.inputs)),
            tuple(_ranges(frame, interface.outputs)),
            frame.table,
            frame.control,
            frame.layout.local_stride,
            (int(self.bound.seed) + 2**63) % 2**64 - 2**63,
            self.count,
            {name: int(self.bound.extents[name]) for name in interface.extents},
        )
        return Ended()


def _ranges(frame: Frame, fields: Iterable[Field]) -> Iterator[Copied]:
    """The bytes of some arguments or results."""
    for each in fields:
        first = frame.layout.offsets[each.tensor]
        yield Copied(first, first + stored_bytes(each, frame.extents))


class DeviceExecutable(Executable):
    """A loaded artifact that runs on the device of this machine."""

    has_units = False

    @classmethod
    def require(cls) -> None:
        cuda_device.find()

    def __init__(
        self, artifact: Artifact, directory: Path | None, key: str, threads: int = 0
    ) -> None:
        """Compile the module for the device; ``threads`` are blocks, 0 for all that fit on it."""
        self.device = cuda_device.find()
        self.module = self.device.load(artifact.source, directory)
        super().__init__(artifact, directory, key, threads or self.module.blocks)

    def load(self, making: Making | None = None) -> Loaded:
        self.loaded = Loaded(_on_the_device, np.zeros(1, np.int64))
        return self.loaded

    def workers(self, extents: Mapping[str, int]) -> int:
        """The number of blocks: never more than tiles, nor than run at once."""
        return min(super().workers(extents), self.module.blocks)

    def start(self, bound: Bound, log: Log | None = None, is_awaited: bool = False) -> Execution:
        self.require_limit(bound)
        return DeviceExecution(self, bound, self.frame(bound.extents))

    def require_room(self, layout: Layout, extents: Mapping[str, int]) -> None:
        """The arena has room on the device; on the host, arguments and results of it do."""
        room = self.device.memory_bytes
        if layout.total_bytes > room:
            raise too_large(layout.total_bytes, extents, f"{self.device.name} has {room:,}")
        interface = self.artifact.interface
        fields = (*interface.inputs, *interface.outputs)
        require_memory(sum(stored_bytes(each, extents) for each in fields), extents)

    def log(self, extents: Mapping[str, int]) -> Log:
        raise OptionError(
            'target="cuda" has no stamps of the time yet, so that a run cannot be profiled',
            'Profile it with target="cpu", or with the tools of the device.',
        )

    def records(self, extents: Mapping[str, int], dim: str, wanted: int | None) -> int | None:
        """All records have room: they come when a run is over."""
        return None

    @cached_property
    def pausing(self) -> Pausing:
        raise OptionError(
            'target="cuda" cannot leave a loop and enter it again yet',
            'Leave out `every` and `resume`, or compile with target="cpu".',
        )

    def explain(self, extents: Mapping[str, int] | None = None) -> Explanation:
        found = super().explain(extents)
        return replace(found, notes=(*found.notes, f"{self.device.name}: {self.module.form}"))


def _on_the_device(*_: object) -> None:
    raise AssertionError("a program for a device has no entry on the host")
