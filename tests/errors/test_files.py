"""What cannot be written to a file is said at the user's line, whatever it is."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import ostinato as ot
from ostinato.pdg.errors import ArgumentError
from tests.errors.refusal import refusal

T = ot.dims("t")
RUN = ot.Program(y=ot.input("x", over=T) * 2.0).compile(without="LLVM passes")
MISSING = "no/such/folder/file"
WRITERS: dict[str, tuple[Callable[[Any], object], str]] = {
    "a page": (lambda path: RUN.explain().to_html(path), "page"),
    "a picture": (lambda path: RUN.profile(x=[1, 2]).to_svg(path), "picture"),
    "a trace": (lambda path: RUN.profile(x=[1, 2]).to_perfetto(path), "trace"),
}


@pytest.mark.parametrize(("write", "what"), WRITERS.values(), ids=WRITERS)
def test_a_missing_folder_is_said_at_the_line(write: Callable[[Any], object], what: str) -> None:
    where, _, rest = refusal(ArgumentError, lambda: write(MISSING)).partition(": ")
    assert where == f"test_files.py:{write.__code__.co_firstlineno}"
    fact = f"the {what} cannot be written to `{MISSING}`: No such file or directory\n"
    assert rest == fact + "  Give the path of a file in a folder that exists."


def test_a_path_is_a_text_or_a_path() -> None:
    text = refusal(ArgumentError, lambda: WRITERS["a page"][0](3))
    assert text.endswith("the page cannot be written to 3\n  Give a path.")
