"""Refuse a system whose index expressions int64 may not hold.

What a user writes is small (`ostinato.pdg.limits`), but reads of reads compose: their constants
multiply.
"""

from __future__ import annotations

from collections.abc import Iterator

from ostinato.codegen.ir.system import (
    Choice,
    Draw,
    Load,
    Position,
    Statement,
    System,
    Value,
    children,
)
from ostinato.pdg.index import Expr
from ostinato.pdg.intervals import LARGEST
from ostinato.pdg.limits import compared, require_small

COMPOSED = 4 * LARGEST
"""The most that composed expressions may compute; tiles and strides still have room above it."""


def require_limits(system: System) -> System:
    """Return the system, all of whose index expressions int64 holds at any extents.

    Errors: AffineError.
    """
    done: set[Expr] = set()
    for s in system.statements.values():
        for e in _expressions(s):
            if e not in done:
                done.add(require_small(e, s.where, COMPOSED))
    return system


def _expressions(s: Statement) -> Iterator[Expr]:
    for axis in s.axes:
        yield axis.size
        yield axis.pad
    todo: list[Value] = []
    for cond, value in s.clauses:
        yield from compared(cond)
        todo.append(value)
    while todo:
        value = todo.pop()
        todo.extend(children(value))
        match value:
            case Position(of):
                yield of
            case Load(_, dims, axes):
                yield from dims
                yield from axes
                yield from (pick.axis.size for pick in value.picks)
            case Draw(_, _, point, element):
                yield from point
                yield element
            case Choice(cond):
                yield from compared(cond)
            case _:
                pass
