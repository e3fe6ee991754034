from io import StringIO
from pathlib import Path

from rich.console import Console

from bench.harness import history
from bench.harness.command import compare
from bench.harness.rows import Refusal, Report, Row, written

HERE = {"processor": "abacus", "cores": 2, "load_before": 0.1, "commit": "abc1234"}


def report(value: float, unit: str = "steps/s", **machine: object) -> Report:
    row = Row("toy", "p", "ostinato", {"envs": 4}, value, unit, value * 0.99, value * 1.01)
    return Report(HERE | machine, (row,))


def compared(folder: Path, now: Path | None = None) -> tuple[bool, str]:
    text = StringIO()
    fine = compare(now, Console(file=text, width=120), folder)
    return fine, text.getvalue()


def test_an_entry_is_read_as_it_was_stored(tmp_path: Path) -> None:
    history.append("toy", report(100.0), tmp_path)
    (found,) = history.entries("toy", tmp_path)
    assert found.report == report(100.0) and found.when and found.commit == "abc1234"


def test_a_slower_program_is_a_regression(tmp_path: Path) -> None:
    history.append("toy", report(100.0), tmp_path)
    history.append("toy", report(80.0), tmp_path)
    fine, text = compared(tmp_path)
    assert not fine and "0.80" in text and "worse" in text


def test_a_longer_time_is_a_regression_and_noise_is_not(tmp_path: Path) -> None:
    for value in (1.0, 1.02):
        history.append("toy", report(value, "start_s"), tmp_path)
    assert compared(tmp_path)[0]
    history.append("toy", report(1.3, "start_s"), tmp_path)
    assert not compared(tmp_path)[0]


def test_a_quantity_that_was_nothing_is_compared(tmp_path: Path) -> None:
    for value in (0.0, 0.0, 1.0):
        history.append("toy", report(value, "again"), tmp_path)
    first, second, third = (each.report for each in history.entries("toy", tmp_path))
    assert [history.changes(first, second)[0].factor, compared(tmp_path)[0]] == [1.0, False]
    assert history.changes(second, third)[0].is_regression


def test_entries_of_other_machines_are_passed_over(tmp_path: Path) -> None:
    history.append("toy", report(100.0), tmp_path)
    history.append("toy", report(900.0, processor="loom"), tmp_path)
    history.append("toy", report(101.0, load_before=3.0), tmp_path)
    fine, text = compared(tmp_path)
    assert fine and "1.01" in text


def test_a_file_is_compared_with_the_newest_entry(tmp_path: Path) -> None:
    history.append("toy", report(100.0), tmp_path)
    now = tmp_path / "now.json"
    now.write_text(written(report(50.0)))
    assert not compared(tmp_path, now)[0]


def test_without_an_earlier_entry_there_is_nothing_to_compare(tmp_path: Path) -> None:
    history.append("toy", report(100.0), tmp_path)
    fine, text = compared(tmp_path)
    assert fine and "nothing to compare" in text


def test_a_program_that_is_refused_now_is_a_regression(tmp_path: Path) -> None:
    history.append("toy", report(100.0), tmp_path)
    refused = Refusal("toy", "p", "ostinato", {"envs": 4}, "too little [/x] memory")
    history.append("toy", Report(HERE, (), (refused,)), tmp_path)
    fine, text = compared(tmp_path)
    assert not fine and "p (envs 4) is refused now: too little [/x] memory" in text
