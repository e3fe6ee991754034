"""The fenced blocks of a page, and the sections that hold them."""

from __future__ import annotations

import re
from pathlib import Path

DOCS = Path(__file__).parents[2] / "docs"
_FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.DOTALL | re.MULTILINE)


def read(name: str) -> str:
    """Return the text of a page of the documentation."""
    return (DOCS / name).read_text(encoding="utf-8")


def sections(text: str) -> dict[str, str]:
    """Return what stands before the first ``##`` heading under "", then each section by title."""
    before, *found = re.split(r"^## (.*)\n", text, flags=re.MULTILINE)
    return {"": before, **dict(zip(found[::2], found[1::2], strict=True))}


def blocks(text: str, language: str) -> list[str]:
    """Return the fenced blocks of a language, in order."""
    return [block for found, block in _FENCE.findall(text) if found == language]
