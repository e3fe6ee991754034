"""Running a compiled program on a device: its arena is one allocation there.

What a run takes is copied to the device, and what is read of it from there, as bytes of an arena
of the same layout. The one driver of a device runs in parts: at the end of one records come, and
the host may stop the run.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from ostinato.pdg.limits import require_memory, too_large
from ostinato.report.kernels import KernelRecord
from ostinato.report.worker_times import Mark, Slice, Track
from ostinato.runtime.machine_code.arena_layout import Layout
from ostinato.runtime.machine_code.source_module import Loaded
from ostinato.runtime.run import cuda_device
from ostinato.runtime.run.arrays import Array, stored_bytes
from ostinato.runtime.run.artifact import Artifact
from ostinato.runtime.run.device import Arguments, Memory, Wait
from ostinato.runtime.run.execution import Execution
from ostinato.runtime.run.executor import Executable
from ostinato.runtime.run.explanation import Explanation
from ostinato.runtime.run.frame import Frame
from ostinato.runtime.run.timing import ROOM, RunLog

if TYPE_CHECKING:
    from ostinato.runtime.machine_code.piecewise import Making
    from ostinato.runtime.run.state import Pausing

APART = (
    "Each phase was launched by itself and waited for, by the clock of the host; other runs are "
    "not. What launches take by themselves, and the host between two of them, is `waiting`. The "
    "time of a phase with several kernels is divided among them as predicted."
)


@dataclass(kw_only=True)
class PhaseLog(RunLog):
    """What a device did, as the track of one worker.

    ``source`` says which kernels a phase calls, ``records`` what these are predicted to take, and
    ``launch_ns`` is what a launch takes by itself.
    """

    source: str
    records: Sequence[KernelRecord]
    launch_ns: int
    room: int = ROOM
    taken: list[int] = field(init=False)  # nanoseconds of every kernel
    calls: list[int] = field(init=False)
    waited: int = 0
    events: list[Slice | Mark] = field(default_factory=list[Slice | Mark])
    stretch: tuple[int, int] | None = None  # from the first launch to the end of the last phase

    def __post_init__(self) -> None:
        self.waits, self.note = ((),), APART
        named = (each.name for each in self.records)
        alone = [name for name in named if f"def {name}_of_grid(" in self.source]
        if alone:
            self.note += f" One block runs what all may run otherwise: {', '.join(alone)}."
        self.taken, self.calls = [0] * len(self.records), [0] * len(self.records)
        self.phases = kernels_of_phases(self.source, [each.name for each in self.records])
        self.now("begin")

    def note_phase(self, phase: str, begun: int, ended: int) -> None:
        """Note a phase that was launched and waited for between two times."""
        first, last = self.stretch or (begun, begun)
        start = min(begun + self.launch_ns, ended)
        self.waited += start - last
        self.add(len(self.records), last, start)
        kernels = self.phases[phase]
        total = sum(self.records[k].predicted_ns for k in kernels)
        at, done = start, 0.0
        for k in kernels:
            done += self.records[k].predicted_ns / total if total else 1 / len(kernels)
            end = ended if k == kernels[-1] else start + round((ended - start) * done)
            self.taken[k] += end - at
            self.calls[k] += 1
            self.add(k, at, end)
            at = end
        self.stretch = first, ended

    def add(self, slot: int, start: int, end: int) -> None:
        """Keep an event while there is room."""
        if len(self.events) < self.room:
            self.events.append(Slice(slot, start, end))

    def tracks(self) -> tuple[Track, ...]:
        first, last = self.stretch or (self.times["run"], self.times["run"])
        did = tuple(self.taken), tuple(self.calls), (self.waited,), tuple(self.events)
        return (Track(first, last, *did, len(self.events) == self.room),)


def kernels_of_phases(source: str, names: Sequence[str]) -> Mapping[str, tuple[int, ...]]:
    r"""The numbers of the kernels that each phase of a module calls.

    >>> text = "def phase_0(at):\n    k1(at)\n    k0(at)\n    k1(at)"
    >>> kernels_of_phases(text, ["k0", "k1"])
    {'phase_0': (1, 0)}
    """
    numbers = {name: k for k, name in enumerate(names)}
    out: dict[str, tuple[int, ...]] = {}
    for each in ast.parse(source).body:
        if isinstance(each, ast.FunctionDef) and each.name.startswith("phase_"):
            called = (x.func for x in ast.walk(each) if isinstance(x, ast.Call))
            found = (x.id for x in called if isinstance(x, ast.Name))
            out[each.name] = tuple(dict.fromkeys(numbers[n] for n in found if n in numbers))
    return out


MANY = 32  # copies from a device take longer than one of all that lies between them


class DeviceFrame(Frame):
    """A frame whose workers are on a device: an arena there, and one here of the same layout.

    That of the host holds arguments on their way to the device, and what is read of results,
    records and states; the rest of it is never touched, and takes no memory.
    """

    def __init__(
        self,
        artifact: Artifact,
        extents: Mapping[str, int],
        workers: int,
        layout: Layout,
        arena: npt.NDArray[np.uint8],
        memory: Memory,
    ) -> None:
        """Find the places in both arenas."""
        super().__init__(artifact, extents, workers, layout, arena)
        self.memory = memory

    def direct(self, inputs: Mapping[str, Array]) -> dict[str, Array]:
        """No tensor lies elsewhere: the device finds everything in its arena."""
        return {}

    def fetch(self, parts: Iterable[Array]) -> None:
        """Copy parts of the arena to the device."""
        for part in parts:
            for first, end in stretches(part, self._address):
                self.memory.put(first, self.arena[first:end])

    def fetch_arguments(self) -> None:
        self.fetch(each.entrance.view for each in self.arguments)

    def offload(self, parts: Iterable[Array]) -> None:
        """Copy parts of the arena from the device; what lies between is of the same tensor."""
        for part in parts:
            for first, end in together([*stretches(part, self._address)]):
                self.memory.take(first, self.arena[first:end])


def stretches(part: Array, origin: int) -> Iterator[tuple[int, int]]:
    """The bytes of a part of an array, in order, as few stretches: from where to where.

    >>> square = np.zeros((4, 8), np.uint8)
    >>> [*stretches(square[1:3], square.ctypes.data)]
    [(8, 24)]
    >>> [*stretches(square[:2, 2:4], square.ctypes.data)]
    [(2, 4), (10, 12)]
    """
    if not part.size:
        return
    depth = 0
    while not _piece(part, (0,) * depth).flags.c_contiguous:
        depth += 1
    for at in np.ndindex(part.shape[:depth]):
        piece = _piece(part, at)
        first = piece.ctypes.data - origin
        yield first, first + piece.nbytes


def together(found: Sequence[tuple[int, int]]) -> Sequence[tuple[int, int]]:
    """Stretches of one tensor, or if they are many a single one with all between them.

    >>> together([(2, 4), (10, 12)])
    [(2, 4), (10, 12)]
    >>> together([(8 * k, 8 * k + 2) for k in range(100)])
    [(0, 794)]
    """
    return found if len(found) <= MANY else [(found[0][0], found[-1][1])]


def _piece(part: Array, at: tuple[int, ...]) -> Array:
    whole: tuple[Any, ...] = (*at, ...)  # an array even where no axis is left
    piece: Array = part[whole]
    return piece


@contextmanager
def fails_with(run: Execution) -> Generator[None]:
    """Note what is raised: then no step of a run is done, and its memory has no state."""
    try:
        yield
    except BaseException as failure:
        run.calls.failure = failure
        raise


class Launched:
    """The work of a run, or of a part of it, on a device: it is over when it was waited for."""

    def __init__(self, run: Execution, wait: Wait) -> None:
        self._run, self._wait = run, wait
        self._is_over = False

    def wait(self, seconds: float = math.inf) -> None:
        """Wait for the end, whatever it takes."""
        if not self._is_over:
            self._is_over = True
            with fails_with(self._run):
                self._wait()

    def is_running(self) -> bool:
        return not self._is_over

    def is_late(self) -> bool:
        return False


class DeviceExecutable(Executable):
    """A loaded artifact that runs on the device of this machine."""

    has_units = False
    leaves_for_records = True

    @classmethod
    def require(cls) -> None:
        cuda_device.find()

    def __init__(
        self, artifact: Artifact, directory: Path | None, key: str, threads: int = 0
    ) -> None:
        """Compile the module for the device; ``threads`` are blocks, 0 for all that fit on it."""
        self.device = cuda_device.find()
        self.module = self.device.load(artifact.source, directory)
        self._launch_ns: int | None = None
        super().__init__(artifact, directory, key, threads or self.module.blocks)

    def load(self, making: Making | None = None) -> Loaded:
        self.loaded = Loaded(_on_the_device, np.zeros(1, np.int64))
        return self.loaded

    def workers(self, extents: Mapping[str, int]) -> int:
        """The number of blocks: never more than tiles, nor than run at once."""
        return min(super().workers(extents), self.module.blocks)

    def begin(self, run: Execution, is_awaited: bool) -> Launched:
        return self.go_on(run)

    def go_on(self, run: Execution) -> Launched:
        """Begin to run what the words of a frame say; with a log, to its end."""
        frame = run.frame
        assert isinstance(frame, DeviceFrame), "a device has memory of its own"
        sizes = frame.layout.local_stride, run.seed, run.count, run.extents
        given = Arguments(frame.table, frame.control, *sizes)
        with fails_with(run):
            if run.log is None:
                return Launched(run, frame.memory.run(given))
            assert isinstance(run.log, PhaseLog), "nobody else notes phases"
            frame.memory.run_apart(given, run.log.note_phase)
        return Launched(run, lambda: None)

    def framed(
        self,
        extents: Mapping[str, int],
        layout: Layout,
        arena: npt.NDArray[np.uint8],
        before: Frame | None,
    ) -> Frame:
        memory = None
        if isinstance(before, DeviceFrame):
            memory = before.memory
            del before.memory  # so that the device never holds two
        if memory is None or memory.size_bytes < layout.total_bytes:
            del memory
            memory = self.module.memory(layout.total_bytes)
        workers = self.workers(extents)
        return DeviceFrame(self.artifact, extents, workers, layout, arena, memory)

    def require_room(self, layout: Layout, extents: Mapping[str, int]) -> None:
        """The arena has room on the device; on the host, arguments and results of it do."""
        room = self.device.memory_bytes
        if layout.total_bytes > room:
            raise too_large(layout.total_bytes, extents, f"{self.device.name} has {room:,}")
        interface = self.artifact.interface
        fields = (*interface.inputs, *interface.outputs)
        few = {name: steps * step_bytes for name, steps, step_bytes, _ in layout.windows}
        needed = (few.get(each.tensor) or stored_bytes(each, extents) for each in fields)
        require_memory(sum(needed), extents)

    def log(self, extents: Mapping[str, int]) -> RunLog:
        """An empty log for one run, whose phases are launched one by one; the first compiles them.

        Errors: OptionError.
        """
        if self._launch_ns is None:
            self._launch_ns = self.module.ready_apart()
        blocks, source = self.workers(extents), self.artifact.source
        records = self.artifact.records(extents, blocks)
        return PhaseLog(workers=blocks, source=source, records=records, launch_ns=self._launch_ns)

    @cached_property
    def pausing(self) -> Pausing:
        """The one driver, which runs in parts."""
        from ostinato.runtime.run.state import Keeper, Pausing

        made = self.artifact.paused()
        return Pausing(_on_the_device, Keeper(tuple(made.carried)), *made.words)

    def explain(self, extents: Mapping[str, int] | None = None) -> Explanation:
        found = super().explain(extents)
        return replace(found, notes=(*found.notes, f"{self.device.name}: {self.module.form}"))


def _on_the_device(*_: object) -> None:
    raise AssertionError("a program for a device has no entry on the host")
