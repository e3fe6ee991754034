"""What a suite measured, for machines: rows with sizes, and JSON of them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from bench.harness.suite import Size

FIELDS = ("suite", "program", "system", "size", "value", "unit", "low", "high")


@dataclass(frozen=True, slots=True)
class Row:
    """One quantity of one program: the median of its samples, with the extremes."""

    suite: str
    program: str
    system: str
    size: Size
    value: float
    unit: str
    low: float
    high: float

    @property
    def key(self) -> tuple[object, ...]:
        """What is measured; two rows with one key are the same quantity measured twice."""
        return *run_of(self), self.unit


@dataclass(frozen=True, slots=True)
class Refusal:
    """One program that gave no row, and why."""

    suite: str
    program: str
    system: str
    size: Size
    reason: str


def run_of(each: Row | Refusal) -> tuple[object, ...]:
    """What ran: a program of a system at a size."""
    size = tuple(sorted((name, str(value)) for name, value in each.size.items()))
    return each.suite, each.program, each.system, size


@dataclass(frozen=True, slots=True)
class Report:
    """Rows, the machine that they were measured on, and the programs that gave no row."""

    machine: Mapping[str, object]
    rows: tuple[Row, ...]
    refused: tuple[Refusal, ...] = ()


def written(report: Report) -> str:
    """Return the report as JSON text."""
    return json.dumps(fields_of(report), indent=1) + "\n"


def fields_of(report: Report) -> dict[str, Any]:
    """Return the report as JSON has it: `refused` is left out where there is nothing."""
    fields = {"machine": dict(report.machine), "rows": [asdict(row) for row in report.rows]}
    refused = {"refused": [asdict(each) for each in report.refused]} if report.refused else {}
    return fields | refused


def read(text: str) -> Report:
    """Return the report that JSON text holds.

    Errors: ValueError that names the field if the text is no report.
    """
    found: Any = json.loads(text)
    if set(found) - {"refused"} != {"machine", "rows"}:
        raise ValueError("a report has the two fields `machine` and `rows`, and may have `refused`")
    return report_from(found)


def report_from(fields: Mapping[str, Any]) -> Report:
    """Return the report of what JSON has."""
    rows = tuple(row_from(each) for each in fields["rows"])
    refused = tuple(Refusal(**each) for each in fields.get("refused", ()))
    return Report(fields["machine"], rows, refused)


def row_from(fields: Mapping[str, Any]) -> Row:
    """Return the row with these fields; ValueError if one is missing, unknown or no number."""
    if set(fields) != set(FIELDS):
        odd = sorted(set(fields) ^ set(FIELDS))
        raise ValueError(f"a row has the fields {', '.join(FIELDS)}; look at {', '.join(odd)}")
    for name in ("value", "low", "high"):
        if not isinstance(fields[name], int | float):
            raise ValueError(f"`{name}` of a row is a number, not {fields[name]!r}")
    return Row(**fields)


def merged(old: Report, new: Report) -> tuple[tuple[Row, ...], tuple[Refusal, ...]]:
    """Return all rows and refusals; where both have one quantity, the new one, at its old place.

    What was refused lately has no old rows, and what was measured lately was not refused.
    """
    refused = {run_of(each) for each in new.refused}
    rows = {row.key: row for row in old.rows if run_of(row) not in refused}
    rows.update((row.key, row) for row in new.rows)
    known = refused | {run_of(row) for row in new.rows}
    kept = (each for each in old.refused if run_of(each) not in known)
    return tuple(rows.values()), (*kept, *new.refused)


def update(path: Path, report: Report) -> Report:
    """Write a report to a file that keeps its other rows; return all that stands there now.

    Errors: ValueError if the file's rows are of another machine.
    """
    if not path.is_file():
        path.write_text(written(report))
        return report
    old = read(path.read_text())
    if old.machine.get("processor") != report.machine.get("processor"):
        raise ValueError(f"the rows of {path} were measured on {old.machine.get('processor')}")
    known = {**old.machine, **report.machine}  # the versions of all peers of both
    whole = Report(known, *merged(old, report))
    path.write_text(written(whole))
    return whole
