"""The page on extending: its files are a package, and its examples show what they say."""

from __future__ import annotations

import doctest
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.docs.page import read, runs

MOST_LINES = 30
_FILE = re.compile(r"# (curves/\w+\.py)\n")


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Write the files of the page; forget afterwards what they registered."""
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    for block in runs(read("extending.md")):
        if found := _FILE.match(block.source):
            file = tmp_path / found.group(1)
            file.parent.mkdir(exist_ok=True)
            file.write_text(block.source)
    yield tmp_path / "curves"
    for name in [name for name in sys.modules if name.split(".")[0] == "curves"]:
        del sys.modules[name]


def test_each_file_is_short(package: Path) -> None:
    files = sorted(package.glob("*.py"))
    assert [file.stem for file in files] == ["folds", "operators", "passes", "rules"]
    assert all(len(file.read_text().splitlines()) <= MOST_LINES for file in files)


@pytest.mark.usefixtures("package")
def test_the_examples_show_what_they_say() -> None:
    blocks = [b for b in runs(read("extending.md")) if not _FILE.match(b.source)]
    source = "\n".join(block.source for block in blocks)
    example = doctest.DocTestParser().get_doctest(source, {}, "extending", "extending.md", 0)
    said: list[str] = []
    doctest.DocTestRunner(verbose=False).run(example, out=said.append)
    assert len(example.examples) > len(blocks) and not said, "".join(said)
