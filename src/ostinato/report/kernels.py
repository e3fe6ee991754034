"""Kernels as records: what each serves, does and takes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from html import escape

from ostinato.report.formatting import columns


@dataclass(frozen=True, slots=True)
class Served:
    """An equation that a kernel computes: its tensor, where it is written, what it is part of."""

    tensor: str
    place: str
    operation: str


@dataclass(frozen=True, slots=True)
class KernelRecord:
    """One kernel in one run.

    - ``equations``: what it computes; ``parallel``: the dimension that workers share, "" if worker
      0 runs it alone; ``width``: the points of that dimension in one tile; ``calls``: how often it
      runs, every tile counted;
    - ``operations``: by class: multiplications and additions of ``products``, ``elementwise``,
      ``functions`` (exp, tanh, ...) and ``draws``; ``bytes``: between registers and each level of
      memory;
    - ``predicted_ns`` until the last worker is done, ``measured_ns`` the same in a profiled run;
    - ``limit_ns``: the least that the machine needs: for this arithmetic at its best rates, or for
      these bytes at the bandwidth of their level, whichever is longer;
    - ``workers``: how many of those that there are a call employs;
    - ``shares``: in its predicted time, of operations of the user's by the place they are written.
    """

    name: str
    equations: tuple[Served, ...] = ()
    parallel: str = ""
    width: int = 1
    calls: int = 0
    operations: Mapping[str, float] = field(default_factory=dict[str, float])
    bytes: Mapping[str, float] = field(default_factory=dict[str, float])
    predicted_ns: float = 0.0
    limit_ns: float = 0.0
    shares: Mapping[tuple[str, str], float] = field(default_factory=dict[tuple[str, str], float])
    measured_ns: float | None = None
    workers: int = 1

    @property
    def roofline(self) -> float:
        """The fraction of the machine's roofline: of the measured time if there is one."""
        taken = self.predicted_ns if self.measured_ns is None else self.measured_ns
        return self.limit_ns / taken if taken > 0 else 0.0

    @property
    def tile(self) -> str:
        """What workers share, and how much of it they take at a time."""
        if not self.parallel:
            return "one worker"
        return f"{self.parallel} by {self.width}" if self.width > 1 else self.parallel

    def data(self) -> dict[str, object]:
        """The record as plain data, for JSON."""
        return {
            "name": self.name,
            "equations": [
                {"tensor": e.tensor, "place": e.place, "operation": e.operation}
                for e in self.equations
            ],
            "parallel": self.parallel,
            "width": self.width,
            "calls": self.calls,
            "workers": self.workers,
            "operations": dict(self.operations),
            "bytes": dict(self.bytes),
            "predicted_ns": self.predicted_ns,
            "measured_ns": self.measured_ns,
            "limit_ns": self.limit_ns,
            "roofline": self.roofline,
            "shares": [
                {"operation": operation, "place": place, "share": share}
                for (operation, place), share in self.shares.items()
            ],
        }


def amount(value: float) -> str:
    """A count in three digits.

    >>> amount(0.0), amount(12.0), amount(1_234_567.0)
    ('-', '12', '1.23 M')
    """
    for unit, size in (("T", 1e12), ("G", 1e9), ("M", 1e6), ("k", 1e3)):
        if value >= size:
            return f"{value / size:.3g} {unit}"
    return f"{value:.3g}" if value else "-"


def duration(ns: float | None) -> str:
    """Nanoseconds in the unit that suits them; "-" if nobody measured them.

    >>> duration(1234.0), duration(2.5e7), duration(None)
    ('1.23 us', '25 ms', '-')
    """
    if ns is None:
        return "-"
    for unit, size in (("s", 1e9), ("ms", 1e6), ("us", 1e3)):
        if abs(ns) >= size:
            return f"{ns / size:.3g} {unit}"
    return f"{ns:.3g} ns"


SHOWN = 8  # names of one line's equations
LEVELS = ("L1", "L2", "L3", "DRAM")
HEAD = (
    "kernel", "tiles", "calls", "operations", *LEVELS, "predicted", "measured", "roofline",
)  # fmt: skip


def row(record: KernelRecord) -> tuple[str, ...]:
    """The cells of one kernel, below `HEAD`."""
    return (
        record.name,
        record.tile,
        amount(record.calls),
        amount(sum(record.operations.values())),
        *(amount(record.bytes.get(level, 0.0)) for level in LEVELS),
        duration(record.predicted_ns),
        duration(record.measured_ns),
        f"{100 * record.roofline:.0f} %",
    )


def serves(record: KernelRecord) -> list[str]:
    """The equations of a kernel, those of one line together."""
    lines: dict[tuple[str, str], dict[str, None]] = {}
    for each in record.equations:
        lines.setdefault((each.place, each.operation), {})[each.tensor] = None
    return [
        f"{_some(tuple(names))}{f' ({place})' if place else ''}: {operation}"
        for (place, operation), names in lines.items()
    ]


def _some(names: tuple[str, ...]) -> str:
    more = len(names) - SHOWN
    return ", ".join(names) if more <= 1 else f"{', '.join(names[:SHOWN])} and {more} more"


def kernels_text(records: Sequence[KernelRecord]) -> str:
    """A table of the kernels, and below it what each of them serves."""
    if not records:
        return ""
    lines = [columns([HEAD, *map(row, records)], range(2, len(HEAD)))]
    for record in records:
        kinds = ", ".join(f"{amount(n)} {kind}" for kind, n in record.operations.items() if n)
        lines += ["", f"{record.name}: {kinds or 'moves values only'}"]
        lines += [f"  {text}" for text in serves(record)]
    return "\n".join(lines)


def kernels_table(records: Sequence[KernelRecord]) -> str:
    """The kernels as rows that a click on a heading sorts; numbers stand in ``data-value``."""
    if not records:
        return ""
    heads = "".join(f'<th data-sort="{k}">{escape(name)}</th>' for k, name in enumerate(HEAD))
    body = "".join(_cells(record) for record in records)
    return (
        f'<table class="sorted"><thead><tr>{heads}<th>serves</th></tr></thead>'
        f"<tbody>{body}</tbody></table>"
    )


def _cells(record: KernelRecord) -> str:
    values = (
        "", "", record.calls, sum(record.operations.values()),
        *(record.bytes.get(level, 0.0) for level in LEVELS),
        record.predicted_ns, record.measured_ns or 0.0, record.roofline,
    )  # fmt: skip
    cells = "".join(
        f"<td>{escape(text)}</td>" if value == "" else f'<td data-value="{value:g}">{text}</td>'
        for text, value in zip(row(record), values, strict=True)
    )
    lines = "<br>".join(map(escape, serves(record)))
    return f"<tr>{cells}<td>{lines}</td></tr>"
