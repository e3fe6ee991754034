import json
from io import StringIO
from pathlib import Path

import pytest
from rich.console import Console

from bench.harness.command import Request, run
from bench.harness.machine import machine
from bench.harness.rows import Report, Row, written


def row(system: str, value: float) -> Row:
    size = {"envs": 64, "steps": 128}
    return Row("ppo", "ppo_cartpole", system, size, value, "env_steps/s", value, value)


@pytest.fixture
def stored(tmp_path: Path) -> Path:
    path = tmp_path / "ppo.json"
    path.write_text(written(Report(machine(), (row("ostinato", 9e5), row("jax", 1.5e5)))))
    return path


def test_a_stored_report_is_shown_and_written_without_measuring(stored: Path) -> None:
    text, document = StringIO(), stored.parent / "RESULTS.md"
    document.write_text("# Results\n")
    asked = Request(source=stored, markdown=document)
    run("ppo", asked, Console(file=text, width=150))
    assert "6.00 x" in text.getvalue()
    assert "| 6.00 x | 4.5 x, 5.5 x: aim |" in document.read_text()
    assert "`ostinato bench ppo --rounds 5`" in document.read_text()


def test_a_report_becomes_a_picture(stored: Path) -> None:
    pytest.importorskip("matplotlib", reason="plots are optional")
    picture = stored.parent / "ppo.png"
    run("ppo", Request(source=stored, plot=picture), Console(file=StringIO()))
    assert picture.read_bytes().startswith(b"\x89PNG")


def test_a_report_can_be_copied_to_json(stored: Path) -> None:
    copy = stored.parent / "copy.json"
    run("ppo", Request(source=stored, json=copy), Console(file=StringIO()))
    assert json.loads(copy.read_text()) == json.loads(stored.read_text())
