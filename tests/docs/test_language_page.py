"""The reference of the language: every example runs and shows what it says."""

import re

import pytest

import ostinato as ot
from tests.docs.page import read, runs, sections, shown

PAGE = read("language.md")
PREAMBLE, *_ = runs(PAGE)
SECTIONS = {title: text for title, text in sections(PAGE).items() if title}


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("title", SECTIONS)
def test_the_examples_of_a_section_show_what_they_say(title: str) -> None:
    assert shown(PREAMBLE.source, SECTIONS[title], "language.md") == ""


def test_every_section_has_an_example() -> None:
    assert [title for title, text in SECTIONS.items() if not runs(text)] == []


def test_every_public_name_is_on_the_page() -> None:
    words = set(re.findall(r"\w+", PAGE))
    types = {"Condition", "Dimension", "IndexExpression", "OstinatoError", "Tensor"}
    types |= {"Recurrent", "RecurrentRecord"}  # what the constructs make; never written
    assert [name for name in ot.__all__ if name not in words | types] == []
