"""A picture of a report: one group of bars per case, one bar per system, on a logarithmic scale."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from bench.harness.rows import Report, Row


def plot(report: Report, path: Path) -> None:
    """Draw every unit of a report below the other, and write the picture.

    Errors: ImportError if matplotlib is not installed.
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    rows = [row for row in report.rows if "/" not in row.program]
    units = list(dict.fromkeys(row.unit for row in rows))
    picture = Figure(figsize=(8, 3.2 * max(1, len(units))), layout="constrained")
    FigureCanvasAgg(picture)
    for number, unit in enumerate(units):
        axes = picture.add_subplot(len(units), 1, number + 1)
        _bars(axes, [row for row in rows if row.unit == unit], unit)
    picture.savefig(str(path))  # pyright: ignore[reportUnknownMemberType]


def _bars(axes: object, rows: Sequence[Row], unit: str) -> None:
    labels = list(dict.fromkeys(label(row) for row in rows))
    systems = list(dict.fromkeys(row.system for row in rows))
    width = 0.8 / len(systems)
    for number, system in enumerate(systems):
        own = [row for row in rows if row.system == system]
        at = [labels.index(label(row)) + (number - len(systems) / 2 + 0.5) * width for row in own]
        heights = [row.value for row in own]
        spread = [[r.value - r.low for r in own], [r.high - r.value for r in own]]
        axes.bar(at, heights, width, yerr=spread, label=system)  # type: ignore[attr-defined]
    _finish(axes, labels, unit)


def _finish(axes: object, labels: Sequence[str], unit: str) -> None:
    axes.set_yscale("log")  # type: ignore[attr-defined]
    axes.set_ylabel(unit)  # type: ignore[attr-defined]
    axes.set_xticks(range(len(labels)), labels, fontsize=7)  # type: ignore[attr-defined]
    axes.legend(fontsize=7)  # type: ignore[attr-defined]


def label(row: Row) -> str:
    return row.program + "\n" + "\n".join(f"{name} {value}" for name, value in row.size.items())
