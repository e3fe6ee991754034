"""A pass of the compiler as a record, and how stages run their passes by name."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import ParamSpec, TypeAlias, TypeVar, cast

import numpy as np

from ostinato.pdg.errors import OptionError
from ostinato.pdg.index import Extent, expr, symbols
from ostinato.pdg.interpret import Interpreter, junk
from ostinato.pdg.invariants import verify
from ostinato.pdg.node import Pdg

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


GraphPass: TypeAlias = Callable[[Pdg], Pdg]
ADDED: dict[str, tuple[Pass, GraphPass]] = {}
_SIZES = (1, 2, 5)  # extents of the runs in which a pass must change no value


def add(record: Pass, change: GraphPass, tried_on: Iterable[Pdg]) -> None:
    """Enter a pass that keeps the values of the programs that it is tried on.

    Errors: OptionError.
    """
    programs = tuple(tried_on)
    if not programs:
        fact = f"the pass `{record.name}` is tried on no program"
        raise OptionError(fact, "Give programs that it changes, and one that it does not.")
    for pdg in programs:
        made = _changed(record.name, change, pdg)
        for size in _SIZES:
            _require_same_values(record.name, pdg, made, size)
    ADDED[record.name] = record, change


def with_added(pdg: Pdg, passes: Passes) -> Pdg:
    """Return a program after the passes that were added.

    Errors: OptionError for a pass that changes what the outputs are.
    """
    for name, (_, change) in ADDED.items():
        pdg = passes.optional(name, pdg, _changed, name, change, pdg)
    return pdg


def _changed(name: str, change: GraphPass, pdg: Pdg) -> Pdg:
    made = cast(object, change(pdg))
    if not isinstance(made, Pdg):
        fact = f"the pass `{name}` returns {type(made).__name__}"
        raise OptionError(fact, "Return a graph: the one that it takes, or another one.")
    verify(made)
    before, after = (
        {n: (x.domain, x.shape, x.dtype) for n, x in each.outputs} for each in (pdg, made)
    )
    if before != after:
        output = next(n for n in before.keys() | after.keys() if before.get(n) != after.get(n))
        fact = f"the pass `{name}` changes the domain, the shape or the type of `{output}`"
        raise OptionError(fact, "Return a program with the same outputs.")
    return made


def _require_same_values(name: str, pdg: Pdg, made: Pdg, size: int) -> None:
    """Compare two programs where all inputs, and recurrences outside their box, are arbitrary."""
    least = pdg.minimum_extents
    named = {s.name for d in pdg.dims() for s in symbols(expr(d.extent)) if isinstance(s, Extent)}
    extents = {name: max(size, least.get(name, 1)) for name in named}
    before, after = (
        Interpreter(each, extents, {}, exact=True, extension=junk(size)) for each in (pdg, made)
    )
    changed = dict(made.outputs)
    for output, x in pdg.outputs:
        y = changed[output]
        if not np.allclose(before.everywhere(x), after.everywhere(y), equal_nan=True):
            fact = f"the pass `{name}` changes the value of `{output}`, at extents of {size}"
            raise OptionError(fact, "A pass may change how a value is computed only.")
