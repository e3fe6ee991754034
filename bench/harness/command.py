"""What ``ostinato bench`` does with a suite, or with the history."""

from __future__ import annotations

import importlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.table import Table
from rich.text import Text

from bench.harness import history
from bench.harness.compared import compared
from bench.harness.markdown import cells, findings, headings, refused, replaced, section
from bench.harness.measure import measure
from bench.harness.peers import FOLDER
from bench.harness.rows import Report, read, update, written
from bench.harness.suite import Suite
from ostinato.cli.output import STANDARD, write_text

SUITES = Path(__file__).parents[1] / "suites"


@dataclass(frozen=True, slots=True)
class Request:
    """The options of one invocation."""

    rounds: int = 5
    sizes: tuple[str, ...] = ()
    json: Path | None = None
    add: bool = False
    markdown: Path | None = None
    plot: Path | None = None
    store: bool = False
    peers: Path = FOLDER
    source: Path | None = None  # a report to show instead of measuring


def known() -> list[str]:
    """Return the names of the suites."""
    return sorted(path.stem for path in SUITES.glob("*.py") if path.stem != "__init__")


def load(name: str) -> Suite:
    suite: Suite = importlib.import_module(f"bench.suites.{name}").SUITE
    return suite


def run(name: str, asked: Request, console: Console) -> Report:
    """Measure a suite, show its table, and write what was asked for.

    Errors: ValueError for a size that no case has; FileNotFoundError.
    """
    suite = load(name)
    if asked.add and asked.json in (None, STANDARD):
        raise ValueError("Rows are added to a file: name it with --json")
    if asked.source is None:
        wanted = choice(suite, asked.sizes)
        report = measure(suite, asked.rounds, console.print, wanted, asked.peers)
    else:
        report = report_of(asked.source)
    if asked.store:
        history.append(name, report)
    made = report
    if asked.json is not None:
        if asked.add:
            report = update(asked.json, report)
        else:
            write_text(asked.json, written(report))
    show(suite, made, console)
    if asked.markdown is not None:
        write_markdown(suite, report, spelled(name, asked), asked.markdown)
    if asked.plot is not None:
        from bench.harness.plot import plot

        plot(report, asked.plot)
    return report


def report_of(path: Path) -> Report:
    """Return the report in a file.

    Errors: ValueError if it has none; FileNotFoundError.
    """
    try:
        return read(path.read_text())
    except ValueError as error:
        raise ValueError(f"{path} is no report: {error}") from None


def choice(suite: Suite, sizes: Iterable[str]) -> Mapping[str, frozenset[str]]:
    """Return the wanted values by name, from texts such as ``envs=64,512``."""
    wanted: dict[str, frozenset[str]] = {}
    for text in sizes:
        name, is_given, values = text.partition("=")
        if not is_given:
            raise ValueError(f"`--sizes {text}` has no value: write --sizes {text}=A,B")
        wanted[name] = frozenset(values.split(","))
    if not any(case.has(wanted) for case in suite.cases):
        have = ", ".join(dict.fromkeys(f"{n}={v}" for c in suite.cases for n, v in c.size.items()))
        raise ValueError(f"no case of {suite.name} has {' '.join(sizes)}; there are: {have}")
    return wanted


def write_markdown(suite: Suite, report: Report, command: str, path: Path) -> None:
    document = path.read_text() if path.is_file() else ""
    text = section(suite, report, command)
    path.write_text(replaced(document, suite.name, text))


def spelled(name: str, asked: Request) -> str:
    """Return the command that measures the whole suite this way."""
    return f"ostinato bench {name} --rounds {asked.rounds}"


def show(suite: Suite, report: Report, console: Console) -> None:
    table = Table(title=f"{suite.name}: {suite.title}", title_justify="left")
    for heading in headings(suite):
        table.add_column(heading)
    groups = list(compared(suite, report.rows))
    for group in groups:
        for each in group:
            table.add_row(*map(Text, cells(each)))
        table.add_section()
    for lost in report.refused:
        table.add_row(*map(Text, refused(lost)))
    console.print(table)
    for line in findings([each for group in groups for each in group]):
        console.print(line)
    console.print(", ".join(f"{name} {value}" for name, value in report.machine.items()))


def compare(now: Path | None, console: Console, folder: Path = history.FOLDER) -> bool:
    """Show what changed against the last entry of this machine; return whether nothing got worse.

    ``now`` is a report as JSON; without it every suite's newest entry is compared with the one
    before it.
    """
    found = pairs(now, folder)
    if not found:
        console.print("There is nothing to compare with: no earlier entry of this machine.")
    fine = True
    for suite, before, report in found:
        table = Table(title=f"{suite} since {before.commit}, {before.when}", title_justify="left")
        for heading in ("program", "size", "before", "now", "factor", ""):
            table.add_column(heading)
        for change in history.changes(before.report, report):
            fine = fine and not change.is_regression
            old, new = cells_of(change)
            size = ", ".join(f"{name} {value}" for name, value in change.now.size.items())
            mark = "worse" if change.is_regression else ""
            table.add_row(change.now.program, size, old, new, f"{change.factor:.2f}", mark)
        console.print(table)
        for each in history.lost(before.report, report):
            fine = False
            size = ", ".join(f"{name} {value}" for name, value in each.size.items())
            console.print(f"{each.program} ({size}) is refused now: {each.reason}", markup=False)
    return fine


def cells_of(change: history.Change) -> tuple[str, str]:
    from bench.harness.markdown import figure, shown

    before, now = change.before, change.now
    return figure(before.value, now.unit), f"{figure(now.value, now.unit)} {shown(now.unit)}"


def pairs(now: Path | None, folder: Path) -> list[tuple[str, history.Entry, Report]]:
    """Return what is compared: suite, the entry before, and the report after it."""
    found: list[tuple[str, history.Entry, Report]] = []
    if now is None:
        for suite in history.suites(folder):
            newest = history.entries(suite, folder)[-1]
            earlier = history.last(suite, newest.report.machine, folder, before=newest)
            if earlier is not None:
                found.append((suite, earlier, newest.report))
        return found
    report = report_of(now)
    measured = [row.suite for row in report.rows]
    for suite in dict.fromkeys([*measured, *(each.suite for each in report.refused)]):
        earlier = history.last(suite, report.machine, folder)
        if earlier is not None:
            rows = tuple(row for row in report.rows if row.suite == suite)
            refused = tuple(each for each in report.refused if each.suite == suite)
            found.append((suite, earlier, Report(report.machine, rows, refused)))
    return found
