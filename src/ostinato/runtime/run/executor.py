"""Running a compiled program: one arena, a few threads, no Python until it ends."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from ostinato.pdg.claims import Claim, Unseen, failure
from ostinato.pdg.errors import ArgumentError, MemoryLimitError, NonFiniteError, OstinatoError
from ostinato.pdg.limits import require_memory, too_large
from ostinato.pdg.node import UNSEEN
from ostinato.report.memory_map import Stored
from ostinato.report.worker_times import COUNTS, WorkerShares
from ostinato.runtime.machine_code.arena_layout import Layout
from ostinato.runtime.machine_code.linking import Entry
from ostinato.runtime.machine_code.ports import Field
from ostinato.runtime.machine_code.source_module import Kept, Loaded, load_module
from ostinato.runtime.run.arrays import Array, empty_arena
from ostinato.runtime.run.arrays import tile_counts as counts_of
from ostinato.runtime.run.artifact import Artifact
from ostinato.runtime.run.blocking_pool import Workers
from ostinato.runtime.run.cores import available_cores
from ostinato.runtime.run.execution import Bound, Execution, Running
from ostinato.runtime.run.explanation import Explanation, MemoryUse
from ostinato.runtime.run.extent_choices import PREDICTED, RECORD_BYTES, Crowd, Placing
from ostinato.runtime.run.frame import Frame
from ostinato.runtime.run.spill_file import spilled_arena
from ostinato.runtime.run.spinning_pool import Crew
from ostinato.runtime.run.transfer_timeline import TransferTimeline, simulated

if TYPE_CHECKING:
    from ostinato.report.kernels import KernelRecord
    from ostinato.report.measured_run import RunProfile
    from ostinato.runtime.machine_code.piecewise import Making
    from ostinato.runtime.run.state import Pausing
    from ostinato.runtime.run.timing import Log, RunLog, Stamping

BRIEF_S = 5e-3  # a run that took less before may delay Ctrl-C: see `Workers`


def fields_over(artifact: Artifact, dim: str, unseen: bool = False) -> list[Field]:
    """The outputs of which a step of the outermost dim is a record, or what is checked at it."""
    return [
        f
        for f in artifact.interface.outputs
        if artifact.domains[f.name][:1] == (dim,) and (unseen or not f.name.startswith(UNSEEN))
    ]


class Executable:
    """A loaded artifact that can run with any extents."""

    has_units = True  # that processes compile, each by itself
    leaves_for_records = False  # a loop must be left for its records to be read

    @classmethod
    def require(cls) -> None:
        """Raise OptionError if this machine cannot run such programs."""

    def __init__(
        self, artifact: Artifact, directory: Path | None, key: str, threads: int = 0
    ) -> None:
        """Keep what is found in ``directory``, if there is one.

        ``threads`` 0 means all cores, or one where that is predicted to be faster.
        """
        self.artifact, self.key, self.directory = artifact, key, directory
        self._stamping: Stamping | None = None
        self._measured: tuple[Mapping[str, int], tuple[float, ...]] | None = None
        self.threads, self._follows = threads or available_cores(), not threads
        self.crowd = None if threads else Crowd(artifact.price, directory, key)
        self._placing = Placing(artifact.place, directory, key, artifact.place_stream)
        self._free: list[Frame] = []
        self._extents: Mapping[str, int] = {}
        self._placed: tuple[Mapping[str, int], int, int | None, Layout] | None = None
        self._counted: tuple[Mapping[str, int], int, int] | None = None
        self._brief: Mapping[str, int] | None = None

    @cached_property
    def loaded(self) -> Loaded:
        """The machine code; the first use compiles it, if `load` has not."""
        return self.load()

    def load(self, making: Making | None = None) -> Loaded:
        """Compile the program, with which ``making`` has begun, or find it where it is kept."""
        kept = Kept(self.artifact.source, self.artifact.units, self.directory, self.key)
        self.loaded = load_module(kept, self.threads, making)
        return self.loaded

    def workers(self, extents: Mapping[str, int]) -> int:
        """The number of threads to use: never more than tiles, and one if that is faster."""
        threads = min(self.threads, available_cores()) if self._follows else self.threads
        known = self._counted  # another thread may run with other extents
        if known is None or known[:2] != (extents, threads):
            most = max([1, *counts_of(self.artifact.interface.tiles, extents)])
            most = max(1, min(threads, most))
            chosen = most if self.crowd is None else self.crowd.workers(extents, most)
            known = self._counted = (dict(extents), threads, chosen)
        return known[2]

    def is_brief(self, extents: Mapping[str, int]) -> bool:
        """Whether the last run had these extents and took little time, and calls no Python."""
        return self._brief == extents and not self.artifact.interface.calls

    def layout(self, extents: Mapping[str, int], records: int | None = None) -> Layout:
        """Where every tensor lies; that of the last extents is remembered.

        In a stream ``records`` may wait to be read, 0 for a usual number, None for all.
        """
        workers, known = self.workers(extents), self._placed
        if known is None or known[:3] != (extents, workers, records):
            placed = self._placing.layout(extents, workers, records)
            known = self._placed = (dict(extents), workers, records, placed)
        return known[3]

    def start(self, bound: Bound, log: RunLog | None = None, is_awaited: bool = False) -> Execution:
        """Begin a run, which ``is_awaited`` before anything else happens; end it with `finish`.

        Errors: MemoryLimitError.
        """
        self.require_limit(bound)
        return Execution(self, bound, self.frame(bound.extents), log, is_awaited)

    def is_live(self, dim: str) -> bool:
        """Whether records come while the run goes on, out of one outermost loop."""
        interface = self.artifact.interface
        written = (f.name for f in fields_over(self.artifact, dim))
        return interface.streamed == dim and interface.late.isdisjoint(written)

    def is_left(self, dim: str) -> bool:
        """Whether the loop over a dim is left for its records."""
        return self.leaves_for_records and self.is_live(dim)

    def begin(self, run: Execution, is_awaited: bool) -> Running:
        """Start the workers of a run."""
        frame, log = run.frame, run.log
        words = () if log is None else (stamped(log).words,)
        entry = self.loaded.entry if log is None else stamped(log).stamping.entry
        arguments = self.arguments(run, *words)
        is_brief = is_awaited and self.is_brief(run.bound.extents) and frame.transfers is None
        if is_brief and log is None and isinstance(entry, Entry):
            shared = frame.shared, frame.control
            return Crew(entry, frame.rows(run.count, arguments), shared)
        return Workers(entry, run.count, arguments, is_brief, (run.direct, frame.transfers))

    def go_on(self, run: Execution) -> Running:
        """Start the workers of a part of a run: words of its frame say which part."""
        return Workers(self.pausing.entry, run.count, self.arguments(run))

    def arguments(self, run: Execution, *log: object) -> tuple[object, ...]:
        """What a driver takes after the numbers of its worker and of all."""
        frame = run.frame
        place = (frame.table, frame.layout.local_stride, run.seed, frame.control)
        return (frame.shared, self.loaded.kernels, frame.arena, *place, *log, *run.extents)

    def require_limit(self, bound: Bound, records: int | None = None) -> None:
        """Raise MemoryLimitError if a run takes more than the program was compiled for."""
        self._extents = dict(bound.extents)
        needed, limit = self.layout(bound.extents, records).peak_bytes, self.artifact.memory_limit
        if limit and needed > limit:
            at = ", ".join(f"{name}={n}" for name, n in sorted(bound.extents.items()))
            fact = f"the run at {at} takes {needed:,} bytes, more than its limit of {limit:,}"
            raise MemoryLimitError(fact, f"Compile with these extents as hints: hints=dict({at}).")

    def frame(self, extents: Mapping[str, int], records: int | None = None) -> Frame:
        """The frame of an ended run, if it had these extents; else its arena, if that is enough.

        Errors: MemoryLimitError.
        """
        layout = self.layout(extents, records)
        try:
            free = self._free.pop()
        except IndexError:
            free = None  # or another thread has it
        if free is not None and free.layout is layout and free.is_own:
            return free
        if layout.memory_bytes < layout.total_bytes:
            require_memory(layout.peak_bytes, extents)
            arena = spilled_arena(layout.total_bytes, layout.memory_bytes, extents)
            return self.framed(extents, layout, arena, free)
        is_plain = free is not None and free.layout.memory_bytes == free.layout.total_bytes
        arena = free.arena if free is not None and is_plain else empty_arena(0)
        if arena.size < layout.total_bytes:
            self.require_room(layout, extents)
            try:
                arena = empty_arena(layout.total_bytes)
            except (MemoryError, ValueError, OverflowError):  # held by others, or forbidden
                raise too_large(layout.total_bytes, extents) from None
        return self.framed(extents, layout, arena, free)

    def framed(
        self,
        extents: Mapping[str, int],
        layout: Layout,
        arena: npt.NDArray[np.uint8],
        before: Frame | None,
    ) -> Frame:
        """A new frame, which may take the memory of the one ``before``."""
        return Frame(self.artifact, extents, self.workers(extents), layout, arena)

    def require_room(self, layout: Layout, extents: Mapping[str, int]) -> None:
        """Raise MemoryLimitError where the arena of a run cannot be had."""
        require_memory(layout.total_bytes, extents)

    @cached_property
    def pausing(self) -> Pausing:
        """The driver that runs in parts; the first use compiles it."""
        from ostinato.runtime.run.state import load_pausing  # most runs need none of it

        return load_pausing(self.artifact.paused())

    def log(self, extents: Mapping[str, int]) -> RunLog:
        """An empty log for one run; the first one compiles the driver that fills it."""
        from ostinato.runtime.run.timing import Log, load_stamping  # most runs need none of it

        if self._stamping is None:
            self._stamping = load_stamping(self.artifact.profiled())
        return Log(stamping=self._stamping, workers=self.workers(extents))

    def finish(self, execution: Execution) -> None:
        """Keep the memory of an ended run for the next one."""
        if execution.workers.is_late():
            execution.frame.renew()
        if execution.frame.transfers is not None:
            execution.frame.transfers.rest()
        self._free = [execution.frame]

    def release(self) -> None:
        """Give the memory that is kept for the next run back to the system."""
        self._free = []

    def profile(
        self, log: RunLog, extents: Mapping[str, int], results: Mapping[str, object]
    ) -> RunProfile:
        """Where the time of an ended run went; `explain` shows its kernels from now on.

        Errors: ArgumentError if the run is not over.
        """
        from ostinato.report.measured_run import run_profile

        if "results" not in log.times:
            remedy = "Read its stream to the end, or close it, before."
            raise ArgumentError("the profile of a run that is not over was asked for", remedy)
        log.times.setdefault("end", time.perf_counter_ns())
        records, slots = self.artifact.records(extents, log.workers), (log.waits, log.loops)
        made = run_profile(log.tracks(), records, log.times, log.host_ns, slots, results)
        found = replace(made, note=log.note)
        self._measured = (dict(extents), tuple(each.measured_ns or 0.0 for each in found.kernels))
        return found

    def run(
        self, bound: Bound, check_finite: bool = False, log: RunLog | None = None
    ) -> dict[str, Array]:
        """Return every output, shaped (extents of its dims, then its shape).

        Errors: HostError; NonFiniteError with ``check_finite`` if an output holds a NaN or an
        infinity; that of the first claim that does not hold.
        """
        started = time.perf_counter()
        execution = self.start(bound, log, is_awaited=True)
        execution.wait()
        is_brief = time.perf_counter() - started < BRIEF_S
        self._brief = dict(bound.extents) if is_brief else None
        execution.note_end()
        outputs = {
            each.field.name: execution.result(each)
            for each in execution.frame.outcomes
            if not each.field.name.startswith(UNSEEN)
        }
        wrong = self.failures(execution)
        self.finish(execution)
        if wrong:
            raise wrong[0]
        if check_finite:
            for name, value in outputs.items():
                require_finite(self.artifact, name, value)
        return outputs

    def failures(self, execution: Execution, step: int | None = None) -> list[OstinatoError]:
        """The errors of the claims that do not hold; with a step, of those that belong to it.

        An access outside of a tensor is the only one: what was computed says nothing then.
        """
        bounds = execution.frame.bounds
        fault = bounds.fault() if bounds is not None else None
        if fault is not None:
            return [fault]
        outcomes = execution.frame.outcome

        def value(of: Unseen) -> Array:
            each = outcomes[of.name]
            return execution.result(each) if step is None else execution.result_at(each.field, step)

        is_whole = step is None and not execution.frame.records
        out: list[OstinatoError | None] = []
        for claim in self.artifact.claims:
            both = claim.outputs
            if is_whole or self.is_by_record(claim) != (step is None):
                values = value(both[0]), value(both[-1])
                out.append(failure(claim, values, execution.bound.extents, step))
        return [error for error in out if error is not None]

    def is_by_record(self, claim: Claim) -> bool:
        """Whether a claim is checked at every record of a stream."""
        both = claim.outputs
        dims = {u.dims[:1] for u in both}
        streamed = len(dims) == 1 and all(u.dims for u in both)
        streamed = streamed and both[0].dims[0].name == self.artifact.interface.streamed
        return streamed and self.artifact.interface.late.isdisjoint(u.name for u in both)

    def records(self, extents: Mapping[str, int], dim: str, wanted: int | None) -> int | None:
        """The argument of `layout` for a stream: None if all its records have room.

        That is so if they do not come while it runs, or a claim needs those of all steps.
        """
        whole, limit = self.layout(extents), self.artifact.memory_limit
        is_little = whole.total_bytes <= RECORD_BYTES and not 0 < limit < whole.peak_bytes
        if wanted is None or (not wanted and is_little) or not self.is_live(dim):
            return None
        few = {w[0] for w in self.layout(extents, wanted).windows}
        of = {f.name: f.tensor for f in self.artifact.interface.outputs}
        needed = {
            of[u.name]
            for claim in self.artifact.claims
            if not self.is_by_record(claim)
            for u in claim.outputs
        }
        return wanted if few and few.isdisjoint(needed) else None

    def shares(self, at: Mapping[str, int]) -> WorkerShares:
        """How runs of some extents are divided over workers, and predicted for several numbers."""
        prices = ((n, self.artifact.price(at, n).get(PREDICTED)) for n in COUNTS)
        records = self.artifact.records(at, COUNTS[-1])
        return WorkerShares(
            {n: ns for n, ns in prices if ns is not None}, {r.name: r.workers for r in records}
        )

    def explain(self, extents: Mapping[str, int] | None = None) -> Explanation:
        """What was compiled; memory and time are those of the given extents, or the last run's.

        Without either, time is for typical extents.
        """
        at, explanation = extents or self._extents, self.artifact.explanation
        is_sized = bool(at) or not self.artifact.interface.extents
        workers = self.workers(at) if is_sized else self.threads
        cost = {**self.artifact.price(at, workers), **explanation.cost}
        explanation = replace(explanation, workers=self.shares(at))
        records = self.artifact.records(at, workers)
        if self._measured is not None and (extents is None or extents == self._measured[0]):
            records = tuple(
                replace(each, measured_ns=taken)
                for each, taken in zip(records, self._measured[1], strict=True)
            )
        if not is_sized:
            return replace(explanation, cost=cost, records=records)
        layout = self.layout(at)
        tensors = tuple(Stored(*block) for block in layout.blocks)
        file_bytes = layout.total_bytes - layout.memory_bytes
        streamed = self.layout(at, self.records(at, self.artifact.interface.streamed, 0))
        use = MemoryUse(
            layout.peak_bytes,
            layout.lower_bound_bytes,
            dict(at),
            tensors,
            file_bytes,
            layout.moves.room_bytes,
            tuple(layout.moves.unplanned),
            _timelines(layout, records, workers),
            streamed.peak_bytes,
        )
        return replace(explanation, memory=use, cost=cost, records=records)


def stamped(log: RunLog) -> Log:
    """A log that workers fill."""
    from ostinato.runtime.run.timing import Log

    assert isinstance(log, Log), "workers stamp the time"
    return log


def _timelines(
    layout: Layout, records: Sequence[KernelRecord], workers: int
) -> tuple[TransferTimeline, ...]:
    """The calls of each kernel in which it moves histories, as its work is predicted."""
    found: list[TransferTimeline] = []
    for kernel, around in sorted({(p.kernel, p.around) for p in layout.moves.passages}):
        record, calls = records[kernel], max(1, around)
        moved = [p for p in layout.moves.passages if (p.kernel, p.around) == (kernel, around)]
        at_once = min(workers, max(1, record.workers))
        call_ns = record.predicted_ns * at_once * calls / max(1, record.calls)
        found.append(simulated(record.name, moved, call_ns, layout.moves.link_ns))
    return tuple(found)


def require_finite(artifact: Artifact, name: str, value: Array, *at: int) -> None:
    """Raise NonFiniteError if a float result holds a NaN or an infinity.

    ``at`` are the steps of the output's first dims, if ``value`` is its part there.
    """
    is_float = value.dtype.kind == "f" or value.dtype.name == "bfloat16"  # whose kind is void
    if not is_float or bool(np.isfinite(value).all()):
        return
    first = tuple(int(k) for k in np.argwhere(~np.isfinite(value))[0])
    dims, whole = artifact.domains[name], (*at, *first)
    places = [f"{dim} = {step}" for dim, step in zip(dims, whole, strict=False)]
    if whole[len(dims) :]:
        places.append(f"element {list(whole[len(dims) :])}")
    raise NonFiniteError(
        f"output `{name}` is {value[first]}" + (f" at {', '.join(places)}" if places else ""),
        "Lower the learning rate, clip gradients, or look at the steps before it.",
        artifact.lines.get(name, ""),
    )
