"""Every package says on a page what it holds: short, and every file of it is named."""

from __future__ import annotations

from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[2] / "src" / "ostinato"
PACKAGES = [path.parent for path in sorted(SOURCE.rglob("*/__init__.py"))]
LONGEST = 40


@pytest.mark.parametrize("package", PACKAGES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_the_page_of_a_package_names_all_that_is_in_it(package: Path) -> None:
    text = (package / "README.md").read_text(encoding="utf-8")
    assert len(text.splitlines()) <= LONGEST
    files = {path.name for path in package.glob("*.py")} - {"__init__.py"}
    folders = {path.parent.name for path in package.glob("*/__init__.py")}
    assert [name for name in sorted(files | folders) if name not in text] == []
