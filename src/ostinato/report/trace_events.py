"""A run as trace events, which Perfetto and Chrome draw: one track for every worker.

Source: "Trace Event Format", the complete events ("X") and names ("M") of its JSON form.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from ostinato.report.worker_times import Slice, Track

ENDED = -1
Event = dict[str, object]


@dataclass(frozen=True)
class Named:
    """What the slots and marks of a run are called.

    ``kernels`` are titles, ``kinds`` the operation that takes most of each; ``waits`` gives for
    every barrier the kernels that it waits for.
    """

    kernels: Sequence[str]
    kinds: Sequence[str]
    waits: Sequence[Sequence[int]]
    loops: Sequence[str]
    details: Sequence[Mapping[str, object]]


@dataclass
class _Tracks:
    """Events under construction; times count from ``origin_ns``."""

    origin_ns: int
    events: list[Event] = field(default_factory=list[Event])

    def name(self, tid: int, text: str) -> None:
        self.events.append(
            {"ph": "M", "name": "thread_name", "pid": 1, "tid": tid, "args": {"name": text}}
        )

    def slice(self, tid: int, name: str, kind: str, start: int, end: int, **about: object) -> None:
        self.events.append(
            {
                "ph": "X",
                "name": name,
                "cat": kind,
                "pid": 1,
                "tid": tid,
                "ts": (start - self.origin_ns) / 1e3,
                "dur": (end - start) / 1e3,
                "args": about,
            }
        )


def trace_events(
    tracks: Sequence[Track], named: Named, phases: Sequence[tuple[str, int, int]]
) -> list[Event]:
    """Return the events: iterations of driver loops with the kernels and waits inside them.

    ``phases`` are what Python did: names, first and last nanosecond, on a track of its own.
    """
    out = _Tracks(min([start for _, start, _ in phases], default=0))
    out.events.append({"ph": "M", "name": "process_name", "pid": 1, "args": {"name": "ostinato"}})
    out.name(0, "Python")
    for name, start, end in phases:
        out.slice(0, name, "python", start, end)
    for k, track in enumerate(tracks):
        out.name(k + 1, f"worker {k}")
        for loop, value, start, end in iterations(track):
            out.slice(k + 1, f"{named.loops[loop]} = {value}", "loop", start, end)
        for each in track.events:
            if isinstance(each, Slice):
                _add(out, k + 1, each, named)
    return out.events


def _add(out: _Tracks, tid: int, each: Slice, named: Named) -> None:
    kernel = each.slot
    if kernel < len(named.kernels):
        about = named.details[kernel]
        title, kind = named.kernels[kernel], named.kinds[kernel]
        out.slice(tid, title, kind, each.start_ns, each.end_ns, **about)
        return
    before = named.waits[kernel - len(named.kernels)]
    after = f" after {named.kernels[before[-1]]}" if before else ""
    out.slice(tid, f"waiting{after}", "waiting", each.start_ns, each.end_ns)


def iterations(track: Track) -> Iterator[tuple[int, int, int, int]]:
    """Every iteration of a driver loop: the loop, its value, first and last nanosecond.

    Those that the log breaks off in end with the last event.
    """
    opened: list[tuple[int, int, int]] = []
    end = track.start_ns
    for each in track.events:
        if isinstance(each, Slice):
            end = each.end_ns
            continue
        while any(loop == each.loop for loop, _, _ in opened):
            yield (*opened.pop(), each.at_ns)
        if each.value != ENDED:
            opened.append((each.loop, each.value, each.at_ns))
    while opened:
        yield (*opened.pop(), end)
