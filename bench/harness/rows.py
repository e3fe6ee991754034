"""What a suite measured, for machines: rows with sizes, and JSON of them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
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
        size = tuple(sorted((name, str(value)) for name, value in self.size.items()))
        return self.suite, self.program, self.system, size, self.unit


@dataclass(frozen=True, slots=True)
class Report:
    """Rows, and the machine that they were measured on."""

    machine: Mapping[str, object]
    rows: tuple[Row, ...]


def written(report: Report) -> str:
    """Return the report as JSON text."""
    rows = [asdict(row) for row in report.rows]
    return json.dumps({"machine": dict(report.machine), "rows": rows}, indent=1) + "\n"


def read(text: str) -> Report:
    """Return the report that JSON text holds.

    Errors: ValueError that names the field if the text is no report.
    """
    found: Any = json.loads(text)
    if set(found) != {"machine", "rows"}:
        raise ValueError("a report has the two fields `machine` and `rows`")
    return Report(found["machine"], tuple(row_from(each) for each in found["rows"]))


def row_from(fields: Mapping[str, Any]) -> Row:
    """Return the row with these fields; ValueError if one is missing, unknown or no number."""
    if set(fields) != set(FIELDS):
        odd = sorted(set(fields) ^ set(FIELDS))
        raise ValueError(f"a row has the fields {', '.join(FIELDS)}; look at {', '.join(odd)}")
    for name in ("value", "low", "high"):
        if not isinstance(fields[name], int | float):
            raise ValueError(f"`{name}` of a row is a number, not {fields[name]!r}")
    return Row(**fields)


def merged(old: Iterable[Row], new: Iterable[Row]) -> tuple[Row, ...]:
    """Return all rows; where both have one quantity, the new one, at its old place."""
    rows = {row.key: row for row in old}
    rows.update((row.key, row) for row in new)
    return tuple(rows.values())


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
    whole = Report(known, merged(old.rows, report.rows))
    path.write_text(written(whole))
    return whole
