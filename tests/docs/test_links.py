"""Links between the pages of the documentation, and to their sections."""

import re
from pathlib import Path

import pytest

from tests.docs.page import DOCS

ROOT = DOCS.parent
FOLDERS = "bench|docs|examples|proofs|src|tests"
PAGES = (
    "README.md", "CONTRIBUTING.md", "bench/README.md",
    *(f"docs/{page.name}" for page in DOCS.glob("*.md")),
)  # fmt: skip


def anchors(page: Path) -> set[str]:
    """Return the anchors of a page's headings, as they are made of the words."""
    headings = re.findall(r"^#+ (.*)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("name", sorted(page.name for page in DOCS.glob("*.md")))
def test_every_link_of_a_page_leads_somewhere(name: str) -> None:
    page = DOCS / name
    for link in re.findall(r"\]\(([^)\s]+)\)", page.read_text(encoding="utf-8")):
        path, _, anchor = link.partition("#")
        target = DOCS / path if path else page
        assert "://" in link or target.exists(), link
        assert not anchor or anchor in anchors(target), link


@pytest.mark.parametrize("name", sorted(PAGES))
def test_every_file_that_a_page_names_is_there(name: str) -> None:
    text = (ROOT / name).read_text(encoding="utf-8")
    short = "|".join(folder.name for folder in (ROOT / "src" / "ostinato").iterdir())
    for path in re.findall(rf"`((?:{FOLDERS}|{short})/[\w./-]+)`", text):
        assert any((ROOT / folder / path).exists() for folder in ("", "src/ostinato")), path
    for module in re.findall(r"python -m ((?:bench|tests|proofs)[\w.]*)", text):
        path = ROOT / module.replace(".", "/")
        assert path.with_suffix(".py").exists() or (path / "__main__.py").exists(), module
