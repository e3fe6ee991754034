"""The page on profiles runs from top to bottom, and shows what it says."""

import doctest

from tests.docs.page import read, runs


def test_the_page_runs_from_top_to_bottom() -> None:
    names: dict[str, object] = {}
    said: list[str] = []
    for block in runs(read("profiling.md")):
        if block.source.startswith(">>>"):
            parser, runner = doctest.DocTestParser(), doctest.DocTestRunner()
            example = parser.get_doctest(block.source, names, "profiling", "profiling.md", 0)
            runner.run(example, out=said.append, clear_globs=False)
            names = example.globs
        else:
            exec(compile(block.source, "profiling.md", "exec"), names)
    assert not said, "".join(said)
