"""The tutorial runs from top to bottom, and shows what it says."""

import doctest

from tests.docs.page import read, runs, sections

PAGE = read("tutorial.md")


def test_the_tutorial_runs_from_top_to_bottom() -> None:
    names: dict[str, object] = {}
    said: list[str] = []
    runner = doctest.DocTestRunner(optionflags=doctest.IGNORE_EXCEPTION_DETAIL)
    for title, text in sections(PAGE).items():
        for block in runs(text):
            if block.source.startswith(">>>"):
                example = doctest.DocTestParser().get_doctest(
                    block.source, names, title, "tutorial.md", 0
                )
                runner.run(example, out=said.append, clear_globs=False)
                names = example.globs
            else:
                exec(compile(block.source, f"tutorial.md: {title}", "exec"), names)
    assert not said, "".join(said)
