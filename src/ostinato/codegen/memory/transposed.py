"""Transposed copies of matrices: squares of them go through registers.

Element by element, either the reads or the writes would be far apart.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ostinato.codegen.ir.system import Axis, Load, Statement, Value
from ostinato.codegen.ir.tree import Nest
from ostinato.codegen.loops.shared_words import SQUARE
from ostinato.codegen.memory.storage import Storage
from ostinato.pdg.index import Dim


@dataclass(frozen=True)
class Transposed:
    """A copy: its rows are the columns of the source; steps are elements between rows."""

    source: Load
    row: Dim  # numbers the rows of the copy
    column: Dim
    to_step: int
    source_step: int


def transposed_copies(
    nest: Nest,
    clause: int,
    statements: Mapping[str, Statement],
    storage: Mapping[str, Storage],
) -> dict[str, Transposed]:
    """What a nest copies, if all that it does is to transpose matrices along the same two axes."""
    found: dict[str, Transposed] = {}
    sizes = {a.index: a for a in nest.axes}
    for name in nest.moving(clause):
        s = statements[name]
        copy = _transposed(s, s.clauses[clause][1], storage)
        if copy is None or not all(_has_squares(sizes.get(d)) for d in (copy.row, copy.column)):
            return {}
        if any(a.index not in sizes for a in s.axes):
            return {}
        found[name] = copy
    pairs = {frozenset((copy.row, copy.column)) for copy in found.values()}
    return found if len(pairs) == 1 else {}


def _has_squares(axis: Axis | None) -> bool:
    return (
        axis is not None
        and axis.size == axis.pad
        and axis.size.is_const
        and axis.size.as_int() % SQUARE == 0
    )


def _transposed(s: Statement, value: Value, storage: Mapping[str, Storage]) -> Transposed | None:
    if s.kind != "map" or s.dtype not in ("float32", "float64") or not isinstance(value, Load):
        return None
    to, source = storage[s.name], storage[value.tensor]
    apart = to.owner != source.owner and "register" not in (to.place, source.place)
    if not apart or value.picks or value.clamp or len(to.axes) < 2 or len(source.axes) < 2:
        return None
    row, column = value.axes[-1].as_dim(), to.axes[-1].index
    if row is None or row == column or any(e.dims & {row, column} for e in value.dims):
        return None
    to_step = _step(to, [a.index for a in to.axes], row)
    source_step = _step(source, [e.as_dim() for e in value.axes], column)
    others = [e for e in value.axes if e.as_dim() not in (row, column)]
    if to_step is None or source_step is None or any(e.dims & {row, column} for e in others):
        return None
    return Transposed(value, row, column, to_step, source_step)


def _step(storage: Storage, axes: Sequence[Dim | None], dim: Dim) -> int | None:
    """The elements between neighbours along a dim that one stored axis runs along."""
    steps = [
        step
        for at, step in zip(axes, storage.strides[len(storage.slots) :], strict=True)
        if at == dim
    ]
    return steps[0].as_int() if len(steps) == 1 and steps[0].is_const else None
