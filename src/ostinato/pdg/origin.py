"""Where values were written and what they are called there; remarks, no part of what a node is."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from typing import NoReturn

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
        for name, value in (("function", function), ("part", part), ("in_loss", in_loss)):
            object.__setattr__(made, name, value)
        return made

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError(f"the {name} of a place does not change")

    def __reduce__(self) -> tuple[type[Place], tuple[str, str, str, bool]]:
        return Place, (str(self), self.function, self.part, self.in_loss)


@dataclass(frozen=True, slots=True)
class Origin:
    """The place and the name of a value; ``others`` has each further name and its place."""

    where: str = ""
    label: str = ""
    others: tuple[Origin, ...] = ()

    def beside(self, name: str) -> list[Origin]:
        """The names of a value that has several, but for the one that stands for it."""
        return [each for each in (self, *self.others) if self.others and each.label != name]


UNKNOWN = Origin()

_making: ContextVar[str] = ContextVar("making", default="")


@contextmanager
def making(part: str) -> Generator[None]:
    """Say of the nodes that are made inside what they are part of."""
    before = _making.set(part)
    try:
        yield
    finally:
        _making.reset(before)


def made_here(origin: Origin) -> Origin:
    """The origin of a node that is being made."""
    part, where = _making.get(), origin.where
    return replace(origin, where=Place(where, function_of(where), part)) if part else origin


def in_loss(where: str) -> str:
    """The place of a node that a derivative passes through."""
    return Place(where, function_of(where), part_of(where), True)


def function_of(where: str) -> str:
    return where.function if isinstance(where, Place) else ""


def part_of(where: str) -> str:
    return where.part if isinstance(where, Place) else ""
