"""What ``ostinato run --profile`` shows and leaves behind."""

from __future__ import annotations

import json
from pathlib import Path

from rich.console import Console
from rich.table import Table

from ostinato.cli.run_directory import PROFILE
from ostinato.report.files import write
from ostinato.report.kernels import HEAD, LEVELS, duration, row
from ostinato.report.measured_run import COLUMNS, RunProfile

LINES, KERNELS = 12, 16  # rows that are shown: the file has all


def keep_profile(found: RunProfile, directory: Path, console: Console) -> None:
    """Print where the time of a run went, and write it to the run directory in three forms.

    ``profile.json`` has all numbers, ``profile.svg`` the bars, ``trace.json`` what Perfetto draws.
    """
    numbers, picture, trace = (directory / name for name in PROFILE)
    write(numbers, json.dumps(found.data(), indent=2) + "\n", "the profile")
    found.to_svg(picture)
    found.to_perfetto(trace)
    console.print(_operations(found))
    if any(each.place for each in found.lines):
        console.print(_lines(found))
    console.print(_kernels(found))
    if found.note:
        console.print(found.note, soft_wrap=True)
    for path, what in ((picture, "bars"), (trace, "for https://ui.perfetto.dev")):
        console.print(f"{path} ({what})", soft_wrap=True)


def _operations(found: RunProfile) -> Table:
    title = f"{duration(found.total_ns)} on {len(found.tracks)} workers"
    table = Table(title=title, title_justify="left")
    for k, name in enumerate(COLUMNS):
        table.add_column(name, justify="right" if k else "left")
    for each in found.operations:
        table.add_row(*found.row(each))
    return table


def _lines(found: RunProfile) -> Table:
    table = Table(title="lines", title_justify="left")
    for name in ("line", "operation"):
        table.add_column(name)
    for name in COLUMNS[1:4]:
        table.add_column(name, justify="right")
    for each in [part for part in found.lines if part.place][:LINES]:
        operation, *numbers, _ = found.row(each)
        table.add_row(each.place, operation, *numbers)
    return table


def _kernels(found: RunProfile) -> Table:
    table = Table(title="kernels", title_justify="left")
    shown = [k for k, name in enumerate(HEAD) if name not in LEVELS]  # the file has their bytes
    for k in shown:
        table.add_column(HEAD[k], justify="left" if k < 2 else "right")
    longest = sorted(found.kernels, key=lambda each: -(each.measured_ns or 0.0))
    for each in longest[:KERNELS]:
        cells = row(each)
        table.add_row(*(cells[k] for k in shown))
    return table
