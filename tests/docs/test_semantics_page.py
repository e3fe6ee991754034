"""What a program means: every example of the page shows what it says, compiled as interpreted."""

import re
from pathlib import Path

import pytest

from tests.docs.page import read, runs, sections, shown

PAGE = read("semantics.md")
PREAMBLE, *_ = runs(PAGE)
SECTIONS = {title: text for title, text in sections(PAGE).items() if title}
ROOT = Path(__file__).parents[2]


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("title", SECTIONS)
def test_the_examples_of_a_section_show_what_they_say(title: str) -> None:
    assert runs(SECTIONS[title])
    assert shown(PREAMBLE.source, SECTIONS[title], "semantics.md") == ""


def test_the_tests_that_the_page_names_exist() -> None:
    named = re.findall(r"`(tests/[\w/.]+)`", PAGE)
    assert named and [path for path in named if not (ROOT / path).exists()] == []


def test_the_page_can_be_read_at_once() -> None:
    assert len(PAGE.splitlines()) <= 300
