"""``ostinato cache``: what is kept, and clearing it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from ostinato.cli.app import app
from ostinato.runtime.machine_code import objects


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OSTINATO_CACHE_DIR", str(tmp_path / "cache"))
    objects.store("ab" * 16, bytes(3000))
    objects.store("cd" * 16, bytes(3000))


def test_the_table_counts_what_is_kept() -> None:
    shown = CliRunner().invoke(app, ["cache", "info"]).output
    assert "kernels" in shown and "6.0 KiB" in shown
    assert "at most 1.0 GiB" in shown


def test_the_same_is_written_as_json(tmp_path: Path) -> None:
    CliRunner().invoke(app, ["cache", "info", "--json", str(tmp_path / "found.json")])
    found = json.loads((tmp_path / "found.json").read_text())
    assert found["limit_bytes"] == 2**30
    assert found["directory"] == str(tmp_path / "cache")
    kernels = {"name": "kernels", "entries": 2, "size_bytes": 2 * (3000 + 65)}
    assert kernels in found["kinds"]


def test_clearing_removes_everything_once() -> None:
    first, second = (CliRunner().invoke(app, ["cache", "clear"]).output for _ in range(2))
    assert "removed 2 entries, 6.0 KiB" in first
    assert "removed 0 entries, 0 B" in second
