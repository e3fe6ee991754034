"""One suite's result: a table for people, JSON for machines."""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from rich.console import Console
from rich.table import Table

from bench.sampling import Spread


@dataclass(frozen=True, slots=True)
class Quantity:
    """One measured quantity of one program."""

    program: str
    what: str
    unit: str
    value: Spread
    ratio: Spread | None = None  # ours over this program's, above 1 where ours is better


@dataclass(frozen=True, slots=True)
class Report:
    """Everything a suite measured in one invocation, and where."""

    suite: str
    setting: str
    quantities: tuple[Quantity, ...]
    machine: Mapping[str, object]


def machine() -> dict[str, object]:
    """Return what a reader needs to judge the figures of this machine."""
    return {
        "processor": processor(),
        "cores": len(os.sched_getaffinity(0)),
        "load_before": os.getloadavg()[0],
        "python": platform.python_version(),
        **{name: found for name in ("numpy", "numba", "jax") if (found := installed(name))},
    }


def processor() -> str:
    information = Path("/proc/cpuinfo")
    lines = information.read_text().splitlines() if information.is_file() else []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()


def installed(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def show(report: Report, console: Console) -> None:
    table = Table(title=f"{report.suite}: {report.setting}", title_justify="left")
    table.add_column("quantity")
    table.add_column("program")
    for heading in ("median", "min .. max", "ostinato / this"):
        table.add_column(heading, justify="right")
    for quantity in report.quantities:
        value, ratio = quantity.value, quantity.ratio
        table.add_row(
            f"{quantity.what} [{quantity.unit}]".replace("[", r"\["),
            quantity.program,
            figure(value.median),
            f"{figure(value.low)} .. {figure(value.high)}",
            "" if ratio is None else f"{ratio.median:.2f} ({ratio.low:.2f} .. {ratio.high:.2f})",
        )
    console.print(table)
    console.print(", ".join(f"{name} {value}" for name, value in report.machine.items()))


def figure(value: float) -> str:
    return f"{value:,.0f}" if value >= 1000 else f"{value:.3g}"


def write_json(report: Report, path: Path) -> None:
    path.write_text(json.dumps(asdict(report), indent=2) + "\n")
