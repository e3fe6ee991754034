"""The page on memory runs from top to bottom, and shows what it says."""

from tests.docs.page import read, shown


def test_the_page_runs_from_top_to_bottom() -> None:
    assert shown("", read("memory.md"), "memory.md") == ""
