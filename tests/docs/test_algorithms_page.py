"""The page about algorithms: its programs run, and it names every setting with its default."""

from __future__ import annotations

import inspect
import re

from ostinato.cli.train import algorithms
from tests.docs.page import read, runs, sections, shown

PAGE = read("algorithms.md")
_BEGIN, _END = "<!-- defaults: tests/docs/test_algorithms_page.py -->\n", "<!-- end -->"


def settings(name: str) -> dict[str, object]:
    """The settings of an algorithm with their defaults."""
    found = inspect.signature(inspect.unwrap(algorithms()[name])).parameters
    return {key: value.default for key, value in found.items() if key not in ("env", "over")}


def defaults() -> str:
    lines = [
        f"- `{name}`: {', '.join(f'{key} {value}' for key, value in settings(name).items())}\n"
        for name in sorted(algorithms())
    ]
    return "".join(lines)


def test_the_programs_of_the_page_run() -> None:
    written = [run.source for run in runs(PAGE) if ">>>" not in run.source]
    blocks = [f"```python\n{run.source}```\n" for run in runs(PAGE) if ">>>" in run.source]
    assert shown("\n".join(written), "".join(blocks), "algorithms.md") == ""


def test_the_page_lists_every_default() -> None:
    assert PAGE.split(_BEGIN)[1].split(_END)[0] == defaults(), f"write:\n{defaults()}"


def test_the_tables_name_every_algorithm_and_every_setting() -> None:
    first = re.findall(r"^\| `(\w+)` \|", sections(PAGE)[""], re.MULTILINE)
    assert sorted(first) == sorted(algorithms())
    rows = re.findall(r"^\| ([^|`]+) \|", sections(PAGE)["Settings"], re.MULTILINE)
    named = {word.strip("*") for row in rows for word in row.split(", ")}
    assert {key for name in algorithms() for key in settings(name)} <= named
