"""Where a dimension ends before its extent, and which reads can meet steps beyond the end."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, cast
from weakref import ref

from ostinato.pdg.index import Dim, Expr, Extremum, FloorDiv, Index, Mod, Slice, expr
from ostinato.pdg.node import Node, Reshape, Transpose

if TYPE_CHECKING:
    from ostinato.language.tensor import Tensor

Positions = Mapping[Dim, Index]


@dataclass(frozen=True, eq=False, slots=True)
class Ending:
    """A dimension ends, at each point of ``outer``, where ``alive`` stops being true."""

    dim: Dim
    outer: frozenset[Dim]
    alive: Tensor
    where: str

    @property
    def dims(self) -> frozenset[Dim]:
        return self.outer | {self.dim}


@dataclass(frozen=True, eq=False, slots=True)
class _Reading:
    """A read that was written while the dimension had no end."""

    over: frozenset[Dim]
    at: Positions
    where: str


@dataclass(eq=False, slots=True)
class Steps:
    """What a program has said about the steps of one dimension."""

    ending: Ending | None = None
    readings: dict[int, tuple[ref[Node], _Reading]] = field(
        default_factory=dict[int, "tuple[ref[Node], _Reading]"]
    )

    def note(self, read: Node, reading: _Reading) -> None:
        """Remember a read as long as somebody has it."""
        number = id(read)
        forget = ref(read, lambda _: self.readings.pop(number, None))
        self.readings[number] = forget, reading

    def met_before(self, ending: Ending) -> tuple[Node, str] | None:
        """Return a value in use, and its place, that an earlier read took from beyond the end."""
        for found, reading in list(self.readings.values()):
            node = found()
            if node is None:
                continue
            if ending.dims <= reading.over and not stays_behind(reading.at, ending):
                return node, reading.where
        return None


def steps_of(dim: Dim) -> Steps:
    """Return the record of a dimension, which lives as long as the dimension."""
    if not dim.remarks:
        dim.remarks.append(Steps())
    return cast(Steps, dim.remarks[0])


def endings(over: Iterable[Dim]) -> tuple[Ending, ...]:
    """Return the ends that tensors over these dimensions have."""
    dims = frozenset(over)
    found = [cast(Steps, dim.remarks[0]).ending for dim in over if dim.remarks]
    return tuple(end for end in found if end is not None and end.dims <= dims)


def note(read: Node, over: Iterable[Dim], at: Positions, where: str) -> None:
    """Remember a read, for an `ot.stop` that comes too late."""
    while isinstance(read.op, Reshape | Transpose):
        read = read.args[0]
    dims = frozenset(over)
    if at:
        for dim in dims:
            steps = steps_of(dim)
            if steps.ending is None:
                steps.note(read, _Reading(dims, at, where))


def stays_behind(at: Positions, ending: Ending) -> bool:
    """Whether a read at a live point meets live points only.

    It does where it stays at the same outer point and goes no step ahead. Step 0 is always live.
    """
    here = expr(ending.dim)
    index = at.get(ending.dim, here)
    if not isinstance(index, Slice) and index == expr(0):
        return True
    if any(at.get(dim, expr(dim)) != expr(dim) for dim in ending.outer):
        return False
    last = index.hi - 1 if isinstance(index, Slice) else index
    return _is_at_most(last, ending.dim)


def _is_at_most(e: Expr, dim: Dim) -> bool:
    """Whether a step is never after the current one."""
    offset = e - expr(dim)
    if offset.is_const:
        return offset.const <= 0
    if e.is_const:
        return e.const <= 0
    if len(e.terms) != 1 or e.terms[0][1] != 1 or e.const > 0:
        return False
    atom = e.terms[0][0]
    match atom:
        case FloorDiv(of, _) | Mod(of, _):
            return _is_at_most(of, dim)
        case Extremum(kind, of):
            found = [_is_at_most(part, dim) for part in of]
            return any(found) if kind == "min" else all(found)
        case _:
            return False
