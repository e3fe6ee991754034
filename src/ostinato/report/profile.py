"""A measured run: its time by operations of the user's, by lines, by kernels, and as a trace."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from ostinato.report.bars import bars
from ostinato.report.kernels import KernelRecord, duration, kernels_text, serves
from ostinato.report.timing import Track
from ostinato.report.trace import Named, trace_events

HOST, WAITING = "host", "waiting"


@dataclass(frozen=True, slots=True)
class Spent:
    """A part of the time of a run.

    ``measured_ns`` of it were measured as such; a prediction divides the rest of a kernel among all
    that the kernel serves. ``place`` is a line of the user's program, "" for all lines together.
    """

    operation: str
    ns: float
    measured_ns: float
    place: str = ""


@dataclass(frozen=True)
class RunProfile:
    """Where the time of one run went.

    - ``total_ns``: from the call to the results, of which every worker spends all;
    - ``operations``: its parts, which add up to it, longest first. ``waiting`` is for other workers
      at barriers, ``starting`` until threads begin and after they end; ``arguments`` and
      ``results`` are Python's copies;
    - ``lines``: the same by lines of the program; ``kernels``: records with measured times.
    """

    total_ns: float
    operations: tuple[Spent, ...]
    lines: tuple[Spent, ...]
    kernels: tuple[KernelRecord, ...]
    tracks: tuple[Track, ...]
    waits: tuple[int, ...]
    loops: tuple[str, ...]
    phases: tuple[tuple[str, int, int], ...]
    results: Mapping[str, object]

    def table(self) -> str:
        """Return the operations, then the lines of the program, as text."""
        head = ("operation", "time", "share", "measured")
        rows = [head, *(self.row(each) for each in self.operations)]
        rows.append(("total", duration(self.total_ns), "100.0 %", ""))
        lines = [("line", "time", "share", "operation")]
        lines += [
            (each.place, *self.row(each)[1:3], each.operation) for each in self.lines if each.place
        ]
        return f"{_aligned(rows)}\n\n{_aligned(lines)}"

    def row(self, each: Spent) -> tuple[str, str, str, str]:
        """The cells of a part: what, how long, its share of the total, how much was measured."""
        share = 100 * each.ns / self.total_ns if self.total_ns else 0.0
        known = 100 * each.measured_ns / each.ns if each.ns else 100.0
        return each.operation, duration(each.ns), f"{share:.1f} %", f"{known:.0f} %"

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
            }

        return {
            "total_ns": self.total_ns,
            "workers": len(self.tracks),
            "operations": [plain(each) for each in self.operations],
            "lines": [plain(each) for each in self.lines],
            "kernels": [each.data() for each in self.kernels],
        }

    def to_svg(self, path: str | Path | None = None) -> str:
        """Return a picture with a bar for every operation; write it to a file."""
        rows = [(each.operation, each.ns, each.measured_ns) for each in self.operations]
        text = bars(rows, f"{duration(self.total_ns)} on {len(self.tracks)} workers")
        if path is not None:
            Path(path).write_text(text, encoding="utf-8")
        return text

    def to_perfetto(self, path: str | Path) -> None:
        """Write a trace for https://ui.perfetto.dev: a track for every worker.

        It has the first events of the run, 20,000 of each worker at most.
        """
        named = Named(
            [each.name for each in self.kernels],
            [max(each.shares, key=lambda k: each.shares[k])[0] for each in self.kernels],
            self.waits,
            self.loops,
            [{"serves": serves(each), "tile": each.tile} for each in self.kernels],
        )
        made = {
            "traceEvents": trace_events(self.tracks, named, self.phases),
            "displayTimeUnit": "ns",
            "otherData": {"cut": any(track.cut for track in self.tracks)},
        }
        Path(path).write_text(json.dumps(made), encoding="utf-8")


def run_profile(
    tracks: Sequence[Track],
    records: Sequence[KernelRecord],
    times: Mapping[str, int],
    host_ns: float,
    slots: tuple[tuple[int, ...], tuple[str, ...]],
    results: Mapping[str, object],
) -> RunProfile:
    """Divide the time of a run.

    ``times`` are those of Python: "begin", "run", "results", "end". ``host_ns`` is what Python
    functions took that compiled code called; ``slots`` are waits and loops.
    """
    begin, run, results_at, end = (times[n] for n in ("begin", "run", "results", "end"))
    spent: dict[tuple[str, str], tuple[float, float]] = {}

    def add(key: tuple[str, str], ns: float, measured: float) -> None:
        before = spent.get(key, (0.0, 0.0))
        spent[key] = before[0] + ns, before[1] + measured

    share = 1 / len(tracks)
    known = tuple(
        replace(record, measured_ns=float(max(track.kernels[k] for track in tracks)))
        for k, record in enumerate(records)
    )
    called = _host_times(known)
    for k, record in enumerate(known):
        taken = sum(track.kernels[k] for track in tracks)
        for (operation, place), ns, measured in _divided(record, taken, host_ns * called[k]):
            add((operation, place), ns * share, measured * share)
    waiting = sum(sum(track.waits) for track in tracks) * share
    starting = sum(t.start_ns - run + results_at - t.end_ns for t in tracks) * share
    for name, ns in (
        (WAITING, waiting),
        ("starting", starting),
        ("arguments", float(run - begin)),
        ("results", float(end - results_at)),
    ):
        add((name, ""), ns, ns)
    phases = (("arguments", begin, run), ("run", run, results_at), ("results", results_at, end))
    return RunProfile(
        float(end - begin),
        _sorted(_summed(spent)),
        _sorted(Spent(o, *both, place) for (o, place), both in spent.items()),
        known,
        tuple(tracks),
        *slots,
        phases,
        results,
    )


Divided = list[tuple[tuple[str, str], float, float]]


def _divided(record: KernelRecord, taken: float, host_ns: float) -> Divided:
    """The time of a kernel by operation and line: calls of Python as measured, the rest by shares.

    What one operation has alone is measured.
    """
    host_ns = min(host_ns, taken)
    others = {key: part for key, part in record.shares.items() if key[0] != HOST}
    calls = {key: part for key, part in record.shares.items() if key[0] == HOST}
    if not others:
        host_ns = taken
    out: Divided = []
    for shares, ns in ((others, taken - host_ns), (calls, host_ns)):
        is_alone = len({operation for operation, _ in shares}) == 1
        total = sum(shares.values())
        for key, part in shares.items():
            mine = ns * part / total
            out.append((key, mine, mine if is_alone else 0.0))
    return out


def _host_times(records: Sequence[KernelRecord]) -> list[float]:
    """How the time of Python functions falls on kernels: by what is predicted of them."""
    predicted = [
        record.predicted_ns * sum(p for (name, _), p in record.shares.items() if name == HOST)
        for record in records
    ]
    total = sum(predicted)
    return [each / total if total else 0.0 for each in predicted]


def _summed(spent: Mapping[tuple[str, str], tuple[float, float]]) -> list[Spent]:
    out: dict[str, tuple[float, float]] = {}
    for (operation, _), (ns, measured) in spent.items():
        before = out.get(operation, (0.0, 0.0))
        out[operation] = before[0] + ns, before[1] + measured
    return [Spent(operation, *both) for operation, both in out.items()]


def _sorted(parts: Iterable[Spent]) -> tuple[Spent, ...]:
    return tuple(sorted(parts, key=lambda each: (-each.ns, each.operation, each.place)))


def _aligned(rows: Sequence[Sequence[str]]) -> str:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "\n".join(
        "  ".join(
            cell.rjust(width) if 0 < k < 3 else cell.ljust(width)
            for k, (cell, width) in enumerate(zip(cells, widths, strict=True))
        ).rstrip()
        for cells in rows
    )
