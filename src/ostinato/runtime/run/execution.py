"""One run of a compiled program: what its workers share with the host, and what it returns."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from ostinato.pdg.host_functions import HostFunction
from ostinato.runtime.machine_code.ports import Field
from ostinato.runtime.run.arrays import Array, steps_of
from ostinato.runtime.run.artifact import Artifact
from ostinato.runtime.run.callbacks import Calls, Control, Memory
from ostinato.runtime.run.frame import Frame, Outcome, empty_result

if TYPE_CHECKING:
    from ostinato.runtime.run.timing import RunLog

GRACE_S = 1.0  # how long workers that were interrupted may take to leave


@dataclass(frozen=True)
class Bound:
    """The arguments of one run: every extent, every input of the right shape and dtype."""

    extents: Mapping[str, int]
    inputs: Mapping[str, Array] = field(default_factory=dict[str, Array])
    seed: int = 0
    hosts: Mapping[int, HostFunction] = field(default_factory=dict[int, HostFunction])


class Running(Protocol):
    """The work of a run, or of a part of it, that has begun."""

    def wait(self, seconds: float = ...) -> None:
        """Wait for the end, or so long, and raise what was raised."""
        ...

    def is_running(self) -> bool: ...

    def is_late(self) -> bool:
        """Whether somebody still touches the words of a frame."""
        ...


class Program(Protocol):
    """What is run, and starts the workers of a run, or of a part of it."""

    @property
    def artifact(self) -> Artifact: ...
    def begin(self, run: Execution, is_awaited: bool) -> Running: ...
    def go_on(self, run: Execution) -> Running: ...


class Execution:
    """One run in progress: its workers, its arena, and the words it shares with them."""

    def __init__(
        self,
        program: Program,
        bound: Bound,
        frame: Frame,
        log: RunLog | None = None,
        is_awaited: bool = False,
    ) -> None:
        """Copy the inputs into the arena and start the workers; with a log they note the time.

        While a run ``is_awaited`` nobody changes its arguments, so that large ones need no copy.
        """
        self.program, self.bound, self.frame, self.log = program, bound, frame, log
        self._words = program.artifact.words
        frame.clear()
        self.direct = frame.direct(bound.inputs) if is_awaited else {}
        for tensor, array in self.direct.items():
            frame.redirect(tensor, array)
        for each in frame.arguments:
            if each.field.tensor not in self.direct:
                each.entrance.put(bound.inputs[each.field.name])
        frame.fetch_arguments()
        if frame.transfers is not None:
            frame.transfers.rest()
        interface = program.artifact.interface
        control = Control(frame.control, self._words.stop, self._words.done)
        self.calls = Calls(
            interface.calls,
            bound.hosts,
            Memory(frame.arena, frame.table, frame.bounds),
            bound.extents,
            control,
        )
        if log is not None:
            log.now("run")
        self.count = frame.workers
        self.workers = self._started(is_awaited)

    def _started(self, is_awaited: bool) -> Running:
        """The workers, which have begun."""
        return self.program.begin(self, is_awaited)

    @property
    def seed(self) -> int:
        """The seed as an int64."""
        return (int(self.bound.seed) + 2**63) % 2**64 - 2**63

    @property
    def extents(self) -> tuple[int, ...]:
        """The extents that a driver takes, in its order."""
        return tuple(int(self.bound.extents[n]) for n in self.program.artifact.interface.extents)

    def done(self) -> int:
        """Steps of the published loop whose results are all written.

        A failed call leaves the steps after it undefined.
        """
        steps = int(self.frame.control[self._words.done])
        return steps if self.calls.failure is None else min(steps, self.calls.sound)

    def note_end(self) -> None:
        """Note in the log, if there is one, that the workers have ended."""
        if self.log is not None:
            self.log.now("results")
            self.log.host_ns = float(self.calls.taken_ns)

    def stop(self) -> None:
        """Ask the workers to leave at the end of the iteration they are in, and wait."""
        self.frame.control[self._words.stop] = 1
        self.workers.wait()
        self.note_end()

    def wait(self) -> None:
        """Wait for the end.

        An interrupt of the waiting thread asks the workers to leave. They do at the end of an
        iteration, and call no Python until then; who has no loop to leave is not waited for.
        """
        try:
            self.workers.wait()
        except BaseException as interrupt:
            self.calls.failure = interrupt
            self.frame.control[self._words.stop] = 1
            self.workers.wait(GRACE_S)
            raise
        if self.calls.failure is not None:
            raise self.calls.failure
        if self.frame.transfers is not None and self.frame.transfers.failure is not None:
            raise self.frame.transfers.failure

    def result(self, each: Outcome) -> Array:
        if each.field.tensor in self.direct:
            return each.cut(self.direct[each.field.tensor].reshape(each.shape))
        self.frame.offload((each.exit.view,))
        return each.cut(each.exit.take(empty_result(each.exit)).reshape(each.shape))

    def offload(self, fields: Iterable[Field], first: int, end: int) -> None:
        """Let the arena hold what is read of some steps, whichever memory workers have."""
        at = ((f, self.frame.first(f.tensor)) for f in fields)
        self.frame.offload(steps_of(self.frame.view(f), f, first - k, end - k) for f, k in at)

    def result_at(self, field: Field, step: int) -> Array:
        """A result at one step, which `offload` has brought."""
        each = self.frame.outcome[field.name]
        here = step - self.frame.first(field.tensor)
        found = self.frame.by_steps[field.name].take_step(here)
        return each.cut(found.reshape(each.shape[1:]))
