"""``--json -``: standard output has the result alone, people read on standard error."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from ostinato.cli.app import app

PROGRAM = """
import ostinato as ot

def scaled() -> ot.Program:
    t = ot.dims("t")
    return ot.Program(y=ot.input("x", over=t) * 2.0)
"""
ASKED = {
    "cache info": "directory",
    "cache clear": "entries",
    "rules list --family incremental": "name",
    "rules show incremental/running": "law",
    "rules stats FILE": "enodes",
    "explain FILE": "source",
    "doctor": "subject",
}


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OSTINATO_CACHE_DIR", str(tmp_path / "cache"))


@pytest.mark.parametrize(("words", "key"), ASKED.items(), ids=ASKED)
def test_standard_output_has_the_result_alone(words: str, key: str, tmp_path: Path) -> None:
    file = tmp_path / "scaled.py"
    file.write_text(PROGRAM)
    given = words.replace("FILE", f"{file}:scaled").split()
    result = CliRunner().invoke(app, [*given, "--json", "-"])
    found = json.loads(result.stdout)
    assert key in (found[0] if isinstance(found, list) else found)
    assert result.stderr.strip() != ""
    assert not Path("-").exists()


@pytest.mark.parametrize("place", [["--json", "-"], ["--markdown", "RESULTS.md"]])
def test_rows_are_added_to_a_file_that_keeps_the_others(place: list[str]) -> None:
    result = CliRunner().invoke(app, ["bench", "peak", "--add", *place])
    assert "Rows are added to a file" in str(result.exception)
