"""The page about environments: its program runs, and its table names every environment."""

from __future__ import annotations

import re

import pytest

from ostinato import rl
from tests.docs.page import read, runs

PAGE = read("environments.md")


def test_the_program_of_the_page_runs(capsys: pytest.CaptureFixture[str]) -> None:
    names: dict[str, object] = {}
    for example in runs(PAGE):
        exec(compile(example.source, "environments.md", "exec"), names)
        assert capsys.readouterr().out.rstrip("\n") == (example.text or "")


def test_the_table_names_every_environment() -> None:
    rows = re.findall(r"^\| (`.*?) \|", PAGE, re.MULTILINE)
    named = {name for row in rows for name in re.findall(r"`(\w+)`", row)}
    made = {name for name in rl.__all__ if hasattr(getattr(rl, name), "reset")}
    assert named - {"ostinato"} == made - {"Env"}
