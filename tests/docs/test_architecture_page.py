"""The page about architecture: its picture and its example are drawn from the code."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from textwrap import wrap

import pytest

import ostinato as ot
from ostinato.compiler.options import options_from
from ostinato.compiler.passes import PASSES
from ostinato.inspection.after_passes import after_passes
from tests.test_imports import FLOORS, SOURCE, heights

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "architecture.md"
PART = "<!-- {name} -->\n```\n{text}\n```\n<!-- end -->"
BLOCK = re.compile(r"<!-- (\w+) -->\n```\n(.*?)\n```\n<!-- end -->", re.DOTALL)
LONGEST = 150


def picture() -> str:
    """The packages from the top floor down, each with the first line of what it says of itself."""
    high = heights()
    lines: list[str] = []
    for floor in range(max(high.values()), 0, -1):
        for package in sorted(name for name in FLOORS if high[name] == floor):
            text = (SOURCE / "ostinato" / package / "__init__.py").read_text(encoding="utf-8")
            about = (ast.get_docstring(ast.parse(text)) or "").partition("\n")[0]
            lines.append(f"{floor}  {package:<12} {about}")
    return "\n".join(lines)


def passes() -> Iterator[str]:
    """A running sum after every pass."""
    b, t = ot.dims("b t")
    x = ot.input("x", over=(b, t))
    program = ot.Program(y=x[b, : t + 1].sum(0))
    found = after_passes(program.pdg, options_from({"threads": 2}, program.pdg))
    for name in ("halves", "chosen program", "plan", "loop IR"):
        kernel, *_ = found[name].split("\n# Every worker")
        yield f"== {name} ==\n{without_places(kernel)}"


def order() -> str:
    """The names of all passes, optimisations in brackets."""
    names = (f"[{p.name}]" if p.is_optimisation else p.name for p in PASSES)
    whole = ", ".join(name.replace(" ", "~") for name in names)
    return "\n".join(wrap(whole, 118)).replace("~", " ")


def without_places(text: str) -> str:
    """Without the file and line of each equation."""
    return "\n".join(re.sub(r" +(# )?test_\S+$", "", line) for line in text.rstrip().split("\n"))


DRAWN: dict[str, Callable[[], str]] = {
    "picture": picture,
    "order": order,
    "passes": lambda: "\n\n".join(passes()),
}


@pytest.mark.parametrize("name", DRAWN)
def test_what_is_drawn_is_what_the_code_says(name: str, request: pytest.FixtureRequest) -> None:
    page, text = PAGE.read_text(encoding="utf-8"), DRAWN[name]()
    if request.config.getoption("--update-golden"):
        old = next(found[0] for found in BLOCK.finditer(page) if found[1] == name)
        page = page.replace(old, PART.format(name=name, text=text))
        PAGE.write_text(page, encoding="utf-8")
    assert dict(BLOCK.findall(page))[name] == text, "run pytest --update-golden"


def test_the_page_is_short() -> None:
    assert len(PAGE.read_text(encoding="utf-8").splitlines()) <= LONGEST
