"""Text built through blocks: indentation belongs to a block, never to a string."""

from __future__ import annotations

from collections.abc import Generator, Iterable
from contextlib import contextmanager

from ostinato.pdg.plaintext import plain

INDENT = "    "
LONGEST_ESCAPE = len("\\U0010ffff")


def comment(text: str) -> str:
    r"""A comment that says a text of the user's, whatever is in it: it never ends before the line.

    >>> comment("loss\nimport os")
    '# loss\\nimport os'
    """
    return f"# {plain(text, len(text) * LONGEST_ESCAPE)}"


def within_docstring(text: str) -> str:
    """A text of the user's inside of a docstring: it neither ends it nor escapes anything.

    >>> within_docstring('a "loss"')
    "a 'loss'"
    """
    return plain(text).replace("\\", "/").replace('"', "'")


class Source:
    """Lines of Python and the depth of the block they belong to.

    >>> out = Source()
    >>> with out.block("for t in range(T)"):
    ...     out.line("total += reward")
    >>> print(out.text(), end="")
    for t in range(T):
        total += reward
    """

    def __init__(self, depth: int = 0) -> None:
        """Start with no lines, ``depth`` blocks deep."""
        self._lines: list[str] = []
        self._depth = depth

    def line(self, text: str = "") -> None:
        """Add one line to the current block; an empty one carries no indentation.

        What the user named stands in it as an identifier of `Names` or as a `comment`.
        """
        assert text.isprintable(), f"this is no single line of source: {text!r}"
        self._lines.append(INDENT * self._depth + text if text else "")

    def lines(self, texts: Iterable[str]) -> None:
        for text in texts:
            self.line(text)

    def extend(self, other: Source) -> None:
        """Add all lines of another source, as deep as the current block."""
        self.lines(other._lines)

    @contextmanager
    def block(self, head: str) -> Generator[None]:
        """Open ``head:``; what is added inside is one deeper. An empty block gets ``pass``."""
        self.line(f"{head}:")
        self._depth += 1
        before = len(self._lines)
        try:
            yield
        finally:
            if all(x.lstrip().startswith("#") or not x for x in self._lines[before:]):
                self.line("pass")
            self._depth -= 1

    def text(self) -> str:
        """Return everything, each line ended."""
        return "".join(f"{line}\n" for line in self._lines)
