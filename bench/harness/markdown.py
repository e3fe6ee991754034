"""A suite's rows as a section of Markdown, and how it replaces the one in a document."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from bench.harness.compared import OURS, Compared, compared
from bench.harness.rows import Refusal, Report
from bench.harness.suite import Suite, Target, is_better_low

HEAD = ("program", "size", "system", "median (low .. high)", "ostinato is better by", "aimed at")
WORST = "worst (low .. high)"  # instead of the median


def headings(suite: Suite) -> tuple[str, ...]:
    """Return the headings of a suite's table."""
    is_worst = any(case.beside for case in suite.cases)
    return tuple(WORST if is_worst and "median" in each else each for each in HEAD)


def section(suite: Suite, report: Report, command: str) -> str:
    """Return heading, words, table and verdicts of one suite."""
    groups = list(compared(suite, [row for row in report.rows if row.suite == suite.name]))
    rows = [cells(each) for group in groups for each in group]
    rows += [refused(each) for each in report.refused if each.suite == suite.name]
    lines = [
        begin(suite.name),
        f"## {suite.name}: {suite.title}",
        "",
        suite.text,
        "",
        f"Command: `{command}`. {origin(report.machine)}",
        "",
        *table(headings(suite), [tuple(c.replace("|", "\\|") for c in row) for row in rows]),
        "",
        *findings([each for group in groups for each in group]),
        end(suite.name),
    ]
    return "\n".join(lines) + "\n"


def begin(name: str) -> str:
    return f"<!-- {name}: generated from here -->"


def end(name: str) -> str:
    return f"<!-- {name}: generated up to here -->"


def replaced(document: str, name: str, text: str) -> str:
    """Return the document with a suite's section in its old place, or at the end."""
    head, found, rest = document.partition(begin(name) + "\n")
    if not found:
        return document.rstrip("\n") + "\n\n" + text if document.strip() else text
    _, found, tail = rest.partition(end(name) + "\n")
    if not found:
        raise ValueError(f"the section {name} of the document does not end")
    return head + text + tail


def cells(each: Compared) -> tuple[str, ...]:
    """Return the texts of one line of the table."""
    row, target = each.row, each.target
    size = ", ".join(f"{name} {value}" for name, value in row.size.items())
    value = f"{figure(row.value, row.unit)} ({figure(row.low, row.unit)} .. "
    value += f"{figure(row.high, row.unit)}) {shown(row.unit)}"
    better = "" if each.ratio is None else f"{each.ratio:.2f} x"
    aimed = "" if target is None else f"{bounds(each, target)}: {each.verdict}"
    return row.program, size, row.system, value, better, aimed


def refused(each: Refusal) -> tuple[str, ...]:
    """Return the texts of the line of a program that gave no row."""
    size = ", ".join(f"{name} {value}" for name, value in each.size.items())
    return each.program, size, each.system, f"refused: {each.reason}", "", ""


def bounds(each: Compared, target: Target) -> str:
    if each.ratio is None:
        return f"{target.floor:g}, {target.aim:g} {shown(each.row.unit)}"
    return f"{target.floor:g} x, {target.aim:g} x"


def findings(rows: Sequence[Compared]) -> list[str]:
    """Return sentences: where a peer wins, and which figures are missed."""
    lines: list[str] = []
    for each in rows:
        row, target = each.row, each.target
        what = f"{row.program} ({', '.join(f'{n} {v}' for n, v in row.size.items())})"
        if each.ratio is not None and each.ratio < 1 and row.system != OURS:
            wins = f"- {row.system} is better at {what}: by {1 / each.ratio:.2f} x in {row.unit}."
            lines.append(wins)
        if target is not None and each.verdict == "missed":
            found = figure(row.value, row.unit) if each.ratio is None else f"{each.ratio:.2f} x"
            side = f" against {row.system}" if each.ratio is not None else ""
            lines.append(f"- Missed{side}: {what}, {found}; {bounds(each, target)} wanted.")
    return [*lines, ""] if lines else []


def origin(machine: Mapping[str, object]) -> str:
    """Return one sentence each for the machine, the versions and the commit."""
    memory = f"{int(str(machine['memory_bytes'])) / 2**30:.0f} GiB"
    apart = {"processor", "vectors", "cores", "memory_bytes", "system", "load_before"}
    apart |= {"commit", "gpu"}
    versions = ", ".join(f"{name} {found}" for name, found in machine.items() if name not in apart)
    where = f"{machine['cores']} cores of {machine['processor']} ({machine['vectors']}), {memory}"
    load = f"load before the run {machine['load_before']}"
    gpu = f", GPU {machine['gpu']}" if "gpu" in machine else ""
    whole = f"{where}{gpu}, {machine['system']}, {load}"
    return f"Machine: {whole}; {versions}. Commit {machine['commit']}."


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    lines = [head, ["---"] * len(head), *rows]
    return ["| " + " | ".join(line) + " |" for line in lines]


def figure(value: float, unit: str) -> str:
    """Return a number for people: rates with k, M and G, bytes in MiB, and times as they are."""
    if unit.endswith("bytes"):
        return f"{value / 2**20:.0f}"
    if not is_better_low(unit):
        for scale, letter in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
            if value >= scale:
                return f"{value / scale:.3g} {letter}"
    return f"{value:.3g}" if value < 1000 else f"{value:,.0f}"


def shown(unit: str) -> str:
    """Return a unit's name in a table: bytes are shown in MiB, times as seconds of something."""
    if unit.endswith("_bytes"):
        return f"MiB {unit.removesuffix('_bytes')}"
    return f"s {unit.removesuffix('_s')}" if unit.endswith("_s") and "/" not in unit else unit
