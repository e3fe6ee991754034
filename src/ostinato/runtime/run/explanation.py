"""What the compiler did, for people: rules, kernels, schedule, source, memory, cost."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import TYPE_CHECKING, cast

from ostinato.report.kernels import KernelRecord, kernels_text
from ostinato.report.memory_curve import MemoryCurve
from ostinato.report.memory_map import Stored
from ostinato.report.worker_times import WorkerShares
from ostinato.runtime.run.transfer_timeline import TransferTimeline

if TYPE_CHECKING:
    from ostinato.report.graph import Graph


MOST_TENSORS = 10  # that the table of memory names


@dataclass(frozen=True, slots=True)
class MemoryUse:
    """Bytes of the arena at some extents: what the plan takes and what no plan can go below.

    ``tensors`` is the arena over time; what every worker has of its own is one tensor. The last
    ``file_bytes`` of the arena lie in a file. Of these ``room_bytes`` are in memory at once, and
    part of the peak, but for those of ``unplanned`` tensors, which the system moves. ``transfers``
    shows one call of each kernel that moves some. A stream, which keeps some records only, takes
    ``streamed_bytes``. ``curve`` plans the program again for several limits, which takes as long
    as to compile it for each, and says what they cost.
    """

    predicted_peak_bytes: int = 0
    lower_bound_bytes: int = 0
    extents: Mapping[str, int] = field(default_factory=dict[str, int])
    tensors: tuple[Stored, ...] = ()
    file_bytes: int = 0
    room_bytes: int = 0
    unplanned: tuple[str, ...] = ()
    transfers: tuple[TransferTimeline, ...] = ()
    streamed_bytes: int = 0
    curve: Callable[[], MemoryCurve] = field(default=MemoryCurve, compare=False, repr=False)

    def __str__(self) -> str:
        at = ", ".join(f"{name}={n}" for name, n in sorted(self.extents.items())) or "any size"
        peak, bound = f"{self.predicted_peak_bytes:,}", f"{self.lower_bound_bytes:,}"
        file = f"{self.file_bytes:,} bytes in a file, " if self.file_bytes else ""
        few = 0 < self.streamed_bytes < self.predicted_peak_bytes
        stream = f", of a stream {self.streamed_bytes:,} bytes" if few else ""
        apart = f", moved by the system: {', '.join(self.unplanned)}" if self.unplanned else ""
        most = f", most of it `{self.fullest[0].name}`" if self.fullest else ""
        return f"peak {peak} bytes{stream}, {file}lower bound {bound} bytes{most}, at {at}{apart}"

    @property
    def _arena_bytes(self) -> int:
        """The part of the arena that is in memory."""
        return self.predicted_peak_bytes - self.room_bytes

    @property
    def fullest(self) -> tuple[Stored, ...]:
        """What is in use when most is, the largest first: it makes the lower bound."""
        inside = [s for s in self.tensors if s.offset < self._arena_bytes]

        def used(phase: int) -> tuple[Stored, ...]:
            return tuple(s for s in inside if s.first <= phase <= s.last)

        phases = {s.first for s in inside}
        found = max(map(used, phases), key=lambda at: sum(s.size for s in at), default=())
        return tuple(sorted(found, key=lambda s: (-s.size, s.name)))

    def table(self) -> str:
        """The largest tensors, one a line: bytes, share of all, phases, and whether in a file."""
        largest = sorted(self.tensors, key=lambda s: (-s.size, s.name))[:MOST_TENSORS]
        width = max((len(s.name) for s in largest), default=0)
        whole = max(1, self.predicted_peak_bytes + self.file_bytes)
        lines = [
            f"{s.name:{width}}  {s.size:>15,}  {s.size / whole:>6.1%}  phases {s.first} .. {s.last}"
            + ("  in a file" if self.file_bytes and s.offset >= self._arena_bytes else "")
            for s in largest
        ]
        rest = sum(s.size for s in self.tensors) - sum(s.size for s in largest)
        more = len(self.tensors) - len(largest)
        return "\n".join([*lines, *([f"{more} more: {rest:,}"] if more else [])])


@dataclass(frozen=True, slots=True)
class Drawn:
    """What is made when a page asks for it: the equations, and the program before and after."""

    equations: str = ""
    graphs: tuple[Graph, ...] = ()


@dataclass(frozen=True)
class Explanation:
    """The stages of one compilation in printable form."""

    rules: Mapping[str, int] = field(default_factory=dict[str, int])  # name -> times fired
    kernels: tuple[str, ...] = ()  # the loop IR of each, the driver last
    schedule: str = ""
    source: str = ""
    memory: MemoryUse = field(default_factory=MemoryUse)
    cost: Mapping[str, float] = field(default_factory=dict[str, float])
    forms: Mapping[str, float] = field(default_factory=dict[str, float])  # what was compared: ns
    passed_over: tuple[str, ...] = ()  # what could not be compared or done, and why
    profile: str = "default"  # the name of the profile that priced it
    notes: tuple[str, ...] = ()  # what the compiler could not do, and why
    without: tuple[str, ...] = ()  # optimisations that were left out
    variant: str = ""  # which compilation it is, and why
    title: str = ""
    records: tuple[KernelRecord, ...] = ()  # what each kernel serves, does and takes
    workers: WorkerShares = field(default_factory=WorkerShares)
    draw: Callable[[], Drawn] = field(default=Drawn, compare=False, repr=False)

    def sections(self) -> dict[str, str]:
        """Return the parts as titled text."""
        counts = sorted(self.rules.items(), key=lambda rule: (-rule[1], rule[0]))
        fired = [(name, count) for name, count in counts if count]
        costs = [f"{name} {value:g}" for name, value in self.cost.items()]
        costs += [f"{ns / 1e6:.4g} ms predicted with {name}" for name, ns in self.forms.items()]
        costs += self.passed_over
        notes = {"notes": "\n".join(self.notes)} if self.notes else {}
        without = {"without": ", ".join(self.without)} if self.without else {}
        variant = {"variant": self.variant} if self.variant else {}
        return {
            **notes,
            **variant,
            **without,
            "rules": "\n".join(f"{count:6d}  {name}" for name, count in fired) or "none fired",
            "schedule": self.schedule,
            "memory": "\n".join(
                [str(self.memory), *self.memory.table().splitlines()]
                + [str(each) for each in self.memory.transfers]
            ),
            "cost": "\n".join([*costs, f"priced by the profile: {self.profile}"]),
            **({"time": kernels_text(self.records)} if self.records else {}),
            **({"workers": str(self.workers)} if self.workers.predicted_ns else {}),
            "loop IR": "\n\n".join(self.kernels),
        }

    def __str__(self) -> str:
        return "\n\n".join(f"== {title} ==\n{text}" for title, text in self.sections().items())

    def data(self) -> dict[str, object]:
        """Return everything but the drawings as plain data, for JSON."""
        return {f.name: _plain(getattr(self, f.name)) for f in fields(self) if f.compare}

    def to_html(self, path: str | Path, curve: MemoryCurve | None = None) -> None:
        """Write one page that needs no other file and no network, with a curve if one is given.

        It has the equations, the program before and after rewriting as drawings whose boxes tell
        their lines, rules and cost, and the parts that `str` shows.
        """
        from ostinato.report.files import write
        from ostinato.report.page import Page, page  # a program that only runs needs none of it

        drawn = self.draw()
        made = Page(
            title=self.title or "a program",
            summary=self._summary(),
            notes=self.notes,
            equations=drawn.equations,
            graphs=drawn.graphs,
            rules=self.rules,
            schedule=self.schedule,
            records=self.records,
            kernels=self.kernels,
            stored=self.memory.tensors,
            total_bytes=self.memory.predicted_peak_bytes,
            curve=curve or MemoryCurve(),
            cost={name: f"{value:g}" for name, value in self.cost.items()},
            source=self.source,
        )
        write(path, page(made), "the page")

    def _summary(self) -> dict[str, str]:
        fired = sum(1 for count in self.rules.values() if count)
        found = {"kernels": str(len(self.kernels)), "rules that fired": str(fired)}
        if self.without:
            found["without"] = ", ".join(self.without)
        if "predicted_ns" in self.cost:
            found["predicted"] = f"{self.cost['predicted_ns'] / 1e6:,.3g} ms ({self.profile})"
        if self.memory.predicted_peak_bytes:
            found["memory"] = str(self.memory)
        return found


def _plain(value: object) -> object:
    if isinstance(value, tuple):
        return [_plain(each) for each in cast(tuple[object, ...], value)]
    if isinstance(value, KernelRecord):
        return value.data()
    if isinstance(value, MemoryUse):
        return {name: of for name, of in asdict(value).items() if name != "curve"}
    return asdict(value) if isinstance(value, WorkerShares) else value
