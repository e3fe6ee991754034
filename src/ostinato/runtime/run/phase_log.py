"""The log of a measured run on a device: what each phase took, launched by itself."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from ostinato.report.kernels import KernelRecord
from ostinato.report.worker_times import Mark, Slice, Track
from ostinato.runtime.run.timing import ROOM, RunLog

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
