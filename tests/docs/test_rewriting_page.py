"""The page on rewriting: its examples run from top to bottom and show what they say."""

import doctest

import pytest

from tests.docs.page import read, runs


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_the_examples_show_what_they_say() -> None:
    blocks = runs(read("rewriting.md"))
    source = "\n".join(block.source for block in blocks)
    example = doctest.DocTestParser().get_doctest(source, {}, "rewriting", "rewriting.md", 0)
    said: list[str] = []
    doctest.DocTestRunner(verbose=False).run(example, out=said.append)
    assert len(example.examples) > len(blocks) and not said, "".join(said)
