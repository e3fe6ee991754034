"""Places with what was being made there; both are remarks, no part of what a node is."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from contextvars import ContextVar

GRADIENT, OPTIMIZER, ENVIRONMENT, MODEL = "gradient", "optimizer", "environment", "model"


class Place(str):
    """``file:line`` of the user's program, as a text, and what asked for a value there.

    ``function`` is the user's function; ``part`` is what it called to make the value: a gradient,
    an optimizer, an environment or a model, "" if it wrote the operation itself; ``in_loss`` says
    that a derivative passes through the value.

    >>> Place("train.py:3", "loss") == "train.py:3"
    True
    """

    __slots__ = ("function", "in_loss", "part")
    function: str
    part: str
    in_loss: bool

    def __new__(cls, text: str, function: str = "", part: str = "", in_loss: bool = False) -> Place:
        made = super().__new__(cls, text)
        made.function, made.part, made.in_loss = function, part, in_loss
        return made

    def __reduce__(self) -> tuple[type[Place], tuple[str, str, str, bool]]:
        return Place, (str(self), self.function, self.part, self.in_loss)


_making: ContextVar[str] = ContextVar("making", default="")


@contextmanager
def making(part: str) -> Generator[None]:
    """Say of the nodes that are made inside what they are part of."""
    before = _making.set(part)
    try:
        yield
    finally:
        _making.reset(before)


def made_here(where: str) -> str:
    """The place of a node that is being made."""
    part = _making.get()
    return Place(where, function_of(where), part) if part else where


def in_loss(where: str) -> str:
    """The place of a node that a derivative passes through."""
    return Place(where, function_of(where), part_of(where), True)


def function_of(where: str) -> str:
    return where.function if isinstance(where, Place) else ""


def part_of(where: str) -> str:
    return where.part if isinstance(where, Place) else ""
