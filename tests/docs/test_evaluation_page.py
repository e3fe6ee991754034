"""The page about evaluation: its programs run, and its commands exist."""

from __future__ import annotations

import re
from typing import Any

import pytest
from typer.main import get_command

from ostinato.cli.app import app
from tests.docs.page import read, runs

PAGE = read("evaluation.md")


def test_the_programs_of_the_page_run(capsys: pytest.CaptureFixture[str]) -> None:
    names: dict[str, object] = {}
    for example in runs(PAGE):
        exec(compile(example.source, "evaluation.md", "exec"), names)
        assert capsys.readouterr().out.rstrip("\n") == (example.text or "")


def test_its_commands_and_options_exist() -> None:
    commands: Any = vars(get_command(app))["commands"]
    for name, options in re.findall(r"^ostinato (\w+)(.*)$", PAGE, re.MULTILINE):
        known: set[str] = {option for each in commands[name].params for option in each.opts}
        assert set(re.findall(r"--[\w-]+", options)) <= known
