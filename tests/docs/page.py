"""The sections of a page of the documentation, and the fenced blocks in them."""

from __future__ import annotations

import doctest
import re
from dataclasses import dataclass
from pathlib import Path

DOCS = Path(__file__).parents[2] / "docs"
_FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.DOTALL | re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Run:
    """A block of Python, and the block of text below it if there is one."""

    source: str
    text: str | None


def read(name: str) -> str:
    """Return the text of a page of the documentation."""
    return (DOCS / name).read_text(encoding="utf-8")


def sections(page: str) -> dict[str, str]:
    """Return what stands before the first ``##`` heading under "", then each section by title."""
    before, *found = re.split(r"^## (.*)\n", page, flags=re.MULTILINE)
    return {"": before, **dict(zip(found[::2], found[1::2], strict=True))}


def runs(text: str) -> list[Run]:
    """Return the blocks of Python in order, each with the block of text that follows it."""
    found = _FENCE.findall(text)
    below = [body.rstrip("\n") if kind == "text" else None for kind, body in found]
    return [
        Run(body, text)
        for (kind, body), text in zip(found, [*below[1:], None], strict=True)
        if kind == "python"
    ]


def shown(preamble: str, text: str, page: str) -> str:
    """Return what the examples of a section show otherwise than they say, "" if all is right."""
    names: dict[str, object] = {}
    exec(compile(preamble, page, "exec"), names)
    runner, said = doctest.DocTestRunner(verbose=False), list[str]()
    for block in runs(text):
        example = doctest.DocTestParser().get_doctest(block.source, names, page, page, 0)
        assert example.examples, f"a block of {page} shows nothing"
        runner.run(example, out=said.append, clear_globs=False)
        names = example.globs
    return "".join(said)
