"""A pass of the compiler as a record, and how stages run their passes by name."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import ParamSpec, TypeVar

Given = ParamSpec("Given")
Made = TypeVar("Made")


@dataclass(frozen=True)
class Pass:
    """One step of a compilation.

    ``at`` is the function that does it. An optimisation has no reason to be ``necessary``: without
    it results differ by rounding only.
    """

    name: str
    at: str
    about: str  # what it does, in one line
    needs: str  # what has to hold of what it is given
    gives: str  # what holds of what it makes
    necessary: str = ""  # why no compilation may leave it out
    within: str = ""  # the pass that asks for it, where it is no step of its own

    @property
    def is_optimisation(self) -> bool:
        return not self.necessary


@dataclass(frozen=True)
class Passes:
    """How passes are run: which optimisations are left out, and who is shown what passes make."""

    without: frozenset[str] = frozenset()
    seen: Callable[[str, object], None] | None = field(default=None, compare=False)

    def made(self, name: str, value: Made) -> Made:
        """Show what a necessary pass made, and return it."""
        if self.seen is not None:
            self.seen(name, value)
        return value

    def optional(
        self, name: str, plain: Made, make: Callable[Given, Made],
        *args: Given.args, **kwargs: Given.kwargs,
    ) -> Made:  # fmt: skip
        """Return what an optimisation makes, or the plain value where it is left out."""
        if name in self.without:
            return plain
        return self.made(name, make(*args, **kwargs))


ALL_PASSES = Passes()
