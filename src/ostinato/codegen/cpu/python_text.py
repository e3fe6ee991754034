"""Python expressions with the binding strength that decides where parentheses go."""

from __future__ import annotations

from dataclasses import dataclass

ATOM, UNARY, PRODUCT, SUM, BOTH, EITHER, COMPARISON = 7, 6, 5, 4, 3, 2, 1  # both: &, either: |


@dataclass(frozen=True, slots=True)
class Text:
    """A piece of Python source and how tightly its outermost operator binds."""

    code: str
    level: int = ATOM

    def __str__(self) -> str:
        return self.code

    def within(self, level: int) -> str:
        """The code, in parentheses if its operator binds less tightly than ``level``."""
        return self.code if self.level >= level else f"({self.code})"


def binary(op: str, level: int, left: Text, right: Text) -> Text:
    """``left op right``; operators of one level group to the left."""
    return Text(f"{left.within(level)} {op} {right.within(level + 1)}", level)


def call(name: str, *args: Text | str) -> Text:
    """``name(args)``."""
    return Text(f"{name}({', '.join(map(str, args))})")
