"""A file of past reports per suite: the last one of a machine is what the next is compared with."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from bench.harness.machine import identity
from bench.harness.rows import Refusal, Report, Row, fields_of, report_from, run_of
from bench.harness.suite import is_better_low

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "bench" / "history"
NOISE = 0.05  # medians of one program on a quiet machine differ by less


@dataclass(frozen=True, slots=True)
class Entry:
    """One report as it was stored."""

    when: str
    report: Report

    @property
    def commit(self) -> str:
        return str(self.report.machine.get("commit", "unknown"))


@dataclass(frozen=True, slots=True)
class Change:
    """One quantity then and now; ``factor`` is above 1 where it became better."""

    before: Row
    now: Row

    @property
    def factor(self) -> float:
        worse_up = is_better_low(self.now.unit)
        first, second = (self.before, self.now) if worse_up else (self.now, self.before)
        return first.value / second.value if second.value else math.inf if first.value else 1.0

    @property
    def is_regression(self) -> bool:
        """Whether it became worse by more than noise: beyond both medians' extremes."""
        if is_better_low(self.now.unit):
            apart = self.now.low > self.before.high
        else:
            apart = self.now.high < self.before.low
        return apart and self.factor < 1 - NOISE


def append(suite: str, report: Report, folder: Path = FOLDER) -> None:
    """Add a report to the suite's history."""
    folder.mkdir(exist_ok=True)
    entry = {"when": datetime.now(UTC).isoformat(timespec="seconds"), **fields_of(report)}
    with (folder / f"{suite}.jsonl").open("a", encoding="utf-8") as file:
        file.write(json.dumps(entry) + "\n")


def entries(suite: str, folder: Path = FOLDER) -> list[Entry]:
    """Return a suite's history, oldest first."""
    path = folder / f"{suite}.jsonl"
    lines = path.read_text(encoding="utf-8").splitlines() if path.is_file() else []
    return [_entry(json.loads(line)) for line in lines]


def suites(folder: Path = FOLDER) -> list[str]:
    return sorted(path.stem for path in folder.glob("*.jsonl"))


def last(
    suite: str, machine: Mapping[str, object], folder: Path = FOLDER, before: Entry | None = None
) -> Entry | None:
    """Return the newest entry of an equal machine, older than ``before`` if that is given."""
    known = entries(suite, folder)
    if before is not None:
        known = known[: known.index(before)]
    same = [entry for entry in known if identity(entry.report.machine) == identity(machine)]
    return same[-1] if same else None


def changes(before: Report, now: Report) -> list[Change]:
    """Return the quantities of ostinato that are in both reports."""
    old = {row.key: row for row in before.rows}
    ours = [row for row in now.rows if row.system == "ostinato" and row.key in old]
    return [Change(old[row.key], row) for row in ours]


def lost(before: Report, now: Report) -> list[Refusal]:
    """Return the programs of ostinato that gave rows before, and are refused now."""
    ran = {run_of(row) for row in before.rows}
    return [each for each in now.refused if each.system == "ostinato" and run_of(each) in ran]


def _entry(fields: Mapping[str, Any]) -> Entry:
    return Entry(fields["when"], report_from(fields))
