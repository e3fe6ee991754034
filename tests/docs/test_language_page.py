"""The reference of the language: every example runs and shows what it says."""

import doctest
import re

import pytest

import ostinato as ot
from tests.docs.page import blocks, read, sections

PAGE = read("language.md")
PREAMBLE, *_ = blocks(PAGE, "python")
SECTIONS = {title: text for title, text in sections(PAGE).items() if title}


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("title", SECTIONS)
def test_the_examples_of_a_section_show_what_they_say(title: str) -> None:
    names: dict[str, object] = {}
    exec(compile(PREAMBLE, "language.md", "exec"), names)
    runner = doctest.DocTestRunner(verbose=False)
    for source in blocks(SECTIONS[title], "python"):
        example = doctest.DocTestParser().get_doctest(source, names, title, "language.md", 0)
        said: list[str] = []
        assert example.examples, f"a block of {title!r} shows nothing"
        runner.run(example, out=said.append, clear_globs=False)
        assert not said, "".join(said)
        names = example.globs


def test_every_section_has_an_example() -> None:
    assert [title for title, text in SECTIONS.items() if not blocks(text, "python")] == []


def test_every_public_name_is_on_the_page() -> None:
    words = set(re.findall(r"\w+", PAGE))
    types = {"Condition", "Dimension", "IndexExpression", "OstinatoError", "Tensor"}
    types |= {"Recurrent", "RecurrentRecord"}  # what the constructs make; never written
    assert [name for name in ot.__all__ if name not in words | types] == []
