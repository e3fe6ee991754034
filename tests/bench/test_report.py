import json
from io import StringIO
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console

from bench.reinforce import require_possible
from bench.report import Quantity, Report, machine, show, write_json
from bench.sampling import Spread, alternate, ratios, spread

REPORT = Report(
    suite="reinforce",
    setting="64 episodes",
    quantities=(
        Quantity("NumPy", "speed", "env-steps/s", Spread(5e5, 4e5, 6e5), Spread(10.0, 9.0, 11.0)),
    ),
    machine={"cores": 2},
)


def test_programs_alternate_after_one_warm_up() -> None:
    order: list[str] = []

    def program(name: str) -> float:
        order.append(name)
        return float(len(order))

    samples = alternate({"a": lambda: program("a"), "b": lambda: program("b")}, rounds=2)
    assert order == ["a", "b"] * 3 and samples == {"a": [3.0, 5.0], "b": [4.0, 6.0]}


def test_a_ratio_compares_the_samples_of_one_round() -> None:
    assert ratios([2.0, 8.0, 9.0], [1.0, 2.0, 3.0]) == Spread(3.0, 2.0, 4.0)


def test_the_spread_is_median_and_extremes() -> None:
    assert spread([3.0, 1.0, 7.0]) == Spread(3.0, 1.0, 7.0)


def test_the_table_shows_value_unit_and_ratio() -> None:
    text = StringIO()
    show(REPORT, Console(file=text, width=140))
    assert "speed [env-steps/s]" in text.getvalue() and "10.00 (9.00 .. 11.00)" in text.getvalue()


def test_the_json_holds_the_whole_report(tmp_path: Path) -> None:
    write_json(REPORT, tmp_path / "report.json")
    found = json.loads((tmp_path / "report.json").read_text())
    assert found["quantities"][0]["ratio"] == {"median": 10.0, "low": 9.0, "high": 11.0}


def test_the_machine_is_described() -> None:
    assert machine().keys() >= {"processor", "cores", "python", "numpy"}


def test_the_speed_of_an_impossible_result_is_no_figure() -> None:
    with pytest.raises(ValueError, match="outside 1 .. 500"):
        require_possible(np.array([21.0, 6e22]))
