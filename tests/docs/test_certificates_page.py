"""The page about certificates: its examples print what stands below them."""

from pathlib import Path

import pytest

from tests.docs.page import read, runs


def test_every_example_prints_the_text_below_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    for example in runs(read("certificates.md")):
        exec(compile(example.source, "example.py", "exec"), names)
        assert capsys.readouterr().out.rstrip("\n") == (example.text or "")
