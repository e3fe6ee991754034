"""A measured run: its time by operations of the user's, by lines, by kernels, and as a trace."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from html import escape
from pathlib import Path

from ostinato.report.files import write
from ostinato.report.formatting import columns
from ostinato.report.kernels import KernelRecord, duration, kernels_text, serves
from ostinato.report.trace_events import Named, trace_events
from ostinato.report.worker_times import Track

HOST, WAITING = "host", "waiting"
SURE = 0.9  # the share of a kernel from which its whole division is no question


COLUMNS = ("operation", "time", "share", "others wait", "measured")


@dataclass(frozen=True, slots=True)
class Spent:
    """A part of the time of a run.

    ``measured_ns`` of it come from kernels that, by prediction, serve hardly anything else; the
    time of others is divided by prediction. ``waited_ns`` are what other workers waited for it
    meanwhile, a part of ``waiting``. ``place`` is a line of the user's program, "" for all lines.
    """

    operation: str
    ns: float
    measured_ns: float
    waited_ns: float = 0.0
    place: str = ""


@dataclass(frozen=True)
class RunProfile:
    """Where the time of one run went.

    - ``total_ns``: from the call to the results, of which every worker spends all;
    - ``operations``: its parts, which add up to it, longest first. ``waiting`` is for other workers
      at barriers, or of a device for its host, ``starting`` until threads begin and after they end;
      ``arguments`` and ``results`` are Python's copies;
    - ``lines``: the same by lines of the program; ``kernels``: records with measured times;
    - ``note``: how the run differed from others, if it did.
    """

    total_ns: float
    operations: tuple[Spent, ...]
    lines: tuple[Spent, ...]
    kernels: tuple[KernelRecord, ...]
    tracks: tuple[Track, ...]
    waits: tuple[tuple[int, ...], ...]
    loops: tuple[str, ...]
    phases: tuple[tuple[str, int, int], ...]
    results: Mapping[str, object]
    note: str = ""

    def table(self) -> str:
        """Return the operations, then the lines of the program, then the note, as text."""
        rows = [COLUMNS, *(self.row(each) for each in self.operations)]
        rows.append(("total", duration(self.total_ns), "100.0 %", "", ""))
        lines = [("line", *COLUMNS[1:4], "operation")]
        lines += [
            (each.place, *self.row(each)[1:4], each.operation) for each in self.lines if each.place
        ]
        parts = [columns(part, range(1, 4)) for part in (rows, lines)]
        return "\n\n".join([*parts, *filter(None, (self.note,))])

    def row(self, each: Spent) -> tuple[str, str, str, str, str]:
        """The cells of a part, below `COLUMNS`."""
        share = 100 * each.ns / self.total_ns if self.total_ns else 0.0
        known = 100 * each.measured_ns / each.ns if each.ns else 100.0
        waited = duration(each.waited_ns) if each.waited_ns else ""
        return each.operation, duration(each.ns), f"{share:.1f} %", waited, f"{known:.0f} %"

    def __str__(self) -> str:
        return f"{self.table()}\n\n{kernels_text(self.kernels)}"

    def data(self) -> dict[str, object]:
        """Return operations, lines and kernels as plain data, for JSON."""

        def plain(each: Spent) -> dict[str, object]:
            place = {"place": each.place} if each.place else {}
            return {
                "operation": each.operation,
                **place,
                "ns": each.ns,
                "measured_ns": each.measured_ns,
                "waited_ns": each.waited_ns,
            }

        return {
            "total_ns": self.total_ns,
            "workers": len(self.tracks),
            "operations": [plain(each) for each in self.operations],
            "lines": [plain(each) for each in self.lines],
            "kernels": [each.data() for each in self.kernels],
            **({"note": self.note} if self.note else {}),
        }

    def to_svg(self, path: str | Path | None = None) -> str:
        """Return a picture with a bar for every operation; write it to a file."""
        rows = [(each.operation, each.ns, each.measured_ns) for each in self.operations]
        text = bars(rows, f"{duration(self.total_ns)} on {len(self.tracks)} workers")
        if path is not None:
            write(path, text, "the picture")
        return text

    def to_perfetto(self, path: str | Path) -> None:
        """Write a trace for https://ui.perfetto.dev: a track for every worker.

        It has the first events of the run, 20,000 of each worker at most.
        """
        named = Named(
            [_title(each) for each in self.kernels],
            [max(each.shares, key=lambda k: each.shares[k])[0] for each in self.kernels],
            self.waits,
            self.loops,
            [{"serves": serves(each), "tile": each.tile} for each in self.kernels],
        )
        made = {
            "traceEvents": trace_events(self.tracks, named, self.phases),
            "displayTimeUnit": "ns",
            "otherData": {"cut": any(track.cut for track in self.tracks), "note": self.note},
        }
        write(path, json.dumps(made), "the trace")


def run_profile(
    tracks: Sequence[Track],
    records: Sequence[KernelRecord],
    times: Mapping[str, int],
    host_ns: float,
    slots: tuple[tuple[tuple[int, ...], ...], tuple[str, ...]],
    results: Mapping[str, object],
) -> RunProfile:
    """Divide the time of a run.

    ``times`` are those of Python: "begin", "run", "results", "end". ``host_ns`` is what Python
    functions took that compiled code called; ``slots`` are waits and loops.
    """
    begin, run, results_at, end = (times[n] for n in ("begin", "run", "results", "end"))
    spent = _Sum()
    share = 1 / len(tracks)
    known = tuple(
        replace(record, measured_ns=float(max(track.kernels[k] for track in tracks)))
        for k, record in enumerate(records)
    )
    called, waited = _host_times(known), _waited(tracks, slots[0])
    for k, record in enumerate(known):
        taken = sum(track.kernels[k] for track in tracks)
        for key, ns, measured in _divided(record, taken, host_ns * called[k]):
            late = waited[k] * ns / taken if taken else 0.0
            spent.add(key, ns * share, measured * share, late * share)
    waiting = sum(sum(track.waits) for track in tracks) * share
    starting = sum(t.start_ns - run + results_at - t.end_ns for t in tracks) * share
    spent.add((WAITING, ""), waiting, waiting)
    spent.add(("starting", ""), starting, starting)
    spent.add(("arguments", ""), run - begin, run - begin)
    spent.add(("results", ""), end - results_at, end - results_at)
    phases = (("arguments", begin, run), ("run", run, results_at), ("results", results_at, end))
    operations = _Sum()
    for (operation, _), three in spent.parts.items():
        operations.add((operation, ""), *three)
    return RunProfile(
        float(end - begin),
        operations.sorted(),
        spent.sorted(),
        known,
        tuple(tracks),
        *slots,
        phases,
        results,
    )


Key = tuple[str, str]  # operation and place


@dataclass
class _Sum:
    """Times by operation and place: all, what is measured of them, what others wait meanwhile."""

    parts: dict[Key, tuple[float, float, float]] = field(
        default_factory=dict[Key, tuple[float, float, float]]
    )

    def add(self, key: Key, ns: float, measured: float, waited: float = 0.0) -> None:
        a, b, c = self.parts.get(key, (0.0, 0.0, 0.0))
        self.parts[key] = a + ns, b + measured, c + waited

    def sorted(self) -> tuple[Spent, ...]:
        found = (Spent(name, *three, place) for (name, place), three in self.parts.items())
        return tuple(sorted(found, key=lambda each: (-each.ns, each.operation, each.place)))


def _waited(tracks: Sequence[Track], waits: Sequence[Sequence[int]]) -> list[float]:
    """What workers waited for each kernel: a barrier waits for those that are not shared evenly."""
    count = len(tracks[0].kernels)
    uneven = [0.0] * count
    for k in range(count):
        each = [track.kernels[k] for track in tracks]
        uneven[k] = float(len(each) * max(each) - sum(each))
    out = [0.0] * count
    for number, kernels in enumerate(waits):
        total = sum(uneven[k] for k in kernels)
        taken = sum(track.waits[number] for track in tracks)
        for k in kernels:
            out[k] += taken * uneven[k] / total if total else 0.0
    return out


def _title(record: KernelRecord) -> str:
    names = [each.tensor for each in record.equations]
    shown = f"{', '.join(names[:3])}{', ...' if len(names) > 3 else ''}"
    return f"{record.name}: {shown}" if names else record.name


Divided = list[tuple[tuple[str, str], float, float]]


def _divided(record: KernelRecord, taken: float, host_ns: float) -> Divided:
    """The time of a kernel by operation and line: calls of Python as measured, the rest by shares.

    What one operation has almost alone is measured.
    """
    host_ns = min(host_ns, taken)
    others = {key: part for key, part in record.shares.items() if key[0] != HOST}
    calls = {key: part for key, part in record.shares.items() if key[0] == HOST}
    if not others:
        host_ns = taken
    out: Divided = []
    for shares, ns in ((others, taken - host_ns), (calls, host_ns)):
        total = sum(shares.values())
        by_operation = _Sum()
        for (operation, _), part in shares.items():
            by_operation.add((operation, ""), part / total, 0.0)
        for key, part in shares.items():
            mine, known = ns * part / total, by_operation.parts[key[0], ""][0]
            out.append((key, mine, mine if known >= SURE else 0.0))
    return out


def _host_times(records: Sequence[KernelRecord]) -> list[float]:
    """How the time of Python functions falls on kernels: by what is predicted of them."""
    predicted = [
        record.predicted_ns * sum(p for (name, _), p in record.shares.items() if name == HOST)
        for record in records
    ]
    total = sum(predicted)
    return [each / total if total else 0.0 for each in predicted]


WIDTH, ROW, LEFT, RIGHT = 760.0, 26.0, 150.0, 150.0
COLOURS = {
    "environment": "#4c9f70", "policy": "#3f78b5", "model": "#3f78b5", "returns": "#b58a3f",
    "gradient": "#8a5ab5", "optimizer": "#b5503f", "host": "#6b6b6b", "waiting": "#c8c8c8",
}  # fmt: skip
OTHER = "#7aa6a1"


def bars(rows: Sequence[tuple[str, float, float]], title: str) -> str:
    """Return the picture as SVG.

    ``rows`` are operations with their nanoseconds, and how many of these are measured; the rest,
    which a prediction divides among what one kernel serves, is lighter.
    """
    total = sum(ns for _, ns, _ in rows) or 1.0
    longest = max((ns for _, ns, _ in rows), default=0.0) or 1.0
    height = ROW * (len(rows) + 1) + 12
    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH:.0f} {height:.0f}" '
        f'width="{WIDTH:.0f}" height="{height:.0f}" role="img" font-family="sans-serif" '
        f'font-size="13"><rect width="100%" height="100%" fill="#fff"/>'
        f'<text x="8" y="19" font-weight="600">{escape(title)}</text>'
    ]
    for k, (name, ns, measured) in enumerate(rows):
        y = ROW * (k + 1) + 4
        scale = (WIDTH - LEFT - RIGHT) / longest
        colour = COLOURS.get(name, OTHER)
        tip = f"{name}: {duration(ns)}, {duration(measured)} of it measured"
        out.append(
            f"<g><title>{escape(tip)}</title>"
            f'<text x="{LEFT - 8:.0f}" y="{y + 15:.0f}" text-anchor="end">{escape(name)}</text>'
            f'<rect x="{LEFT:.0f}" y="{y:.0f}" width="{ns * scale:.1f}" height="{ROW - 6:.0f}" '
            f'fill="{colour}" opacity="0.45"/>'
            f'<rect x="{LEFT:.0f}" y="{y:.0f}" width="{measured * scale:.1f}" '
            f'height="{ROW - 6:.0f}" fill="{colour}"/>'
            f'<text x="{LEFT + ns * scale + 6:.1f}" y="{y + 15:.0f}">{duration(ns)} '
            f"({100 * ns / total:.1f} %)</text></g>"
        )
    return "\n".join([*out, "</svg>"]) + "\n"
