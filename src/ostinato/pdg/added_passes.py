"""Passes that a program adds: they change the graph as it is written, before any other pass."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeAlias

import numpy as np

from ostinato.pdg.errors import OptionError
from ostinato.pdg.index import Extent, expr, symbols
from ostinato.pdg.interpret import Interpreter, junk
from ostinato.pdg.invariants import verify
from ostinato.pdg.node import Pdg
from ostinato.pdg.pass_record import Pass, Passes

GraphPass: TypeAlias = Callable[[Pdg], Pdg]
ADDED: dict[str, tuple[Pass, GraphPass]] = {}
_SIZES = (1, 2, 5)  # extents of the runs in which a pass must change no value


def add(record: Pass, change: GraphPass, tried_on: Iterable[Pdg]) -> None:
    """Enter a pass that keeps the values of the programs that it is tried on.

    Errors: OptionError.
    """
    for pdg in tried_on:
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
    made = change(pdg)
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
