"""The page about certificates: its examples print what stands below them."""

import re
from pathlib import Path

import pytest

from tests.docs.page import read, runs

PACKAGE = Path(__file__).parents[2] / "src" / "ostinato"
ROW = re.compile(r"\| ([^|]*) \| ((?:`[a-z_/.]+`[^|`]*)+) \| ([0-9,]+) \|")


def test_every_example_prints_the_text_below_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    for example in runs(read("certificates.md")):
        exec(compile(example.source, "example.py", "exec"), names)
        assert capsys.readouterr().out.rstrip("\n") == (example.text or "")


def lines(names: str) -> int:
    """The lines of all files of some folders and files."""
    paths = [PACKAGE / name for name in re.findall("`([^`]+)`", names)]
    files = {file for path in paths for file in (path.rglob("*.py") if path.is_dir() else [path])}
    return sum(len(file.read_text(encoding="utf-8").splitlines()) for file in files)


def test_the_trusted_base_has_the_lines_that_the_page_says() -> None:
    rows = ROW.findall(read("certificates.md"))
    assert [part for part, _, _ in rows][:1] == ["the checks"] and len(rows) == 6
    for part, names, said in rows:
        whole, _, without = names.partition("without")
        found = lines(whole) - lines(without)
        assert abs(found - int(said.replace(",", ""))) <= 0.1 * found, (part, found)
