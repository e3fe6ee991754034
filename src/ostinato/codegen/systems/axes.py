"""Which axes are loops, which are unrolled, and in which position a load addresses them."""

from __future__ import annotations

from ostinato.codegen.ir.partial_sums import COPIES, UNROLLED
from ostinato.codegen.ir.system import Axis, Statement
from ostinato.pdg.index import Dim, Expr, dims_of


def is_tiny(axis: Axis) -> bool:
    """Whether an axis has a literal size that is worth unrolling."""
    return axis.size.is_const and axis.size.const <= UNROLLED


def long_axes(statement: Statement) -> tuple[Axis, ...]:
    """The axes that are loops: not tiny, needed by the size of another axis, or too many copies."""
    sizes = [a.size for a in statement.axes if not a.size.is_const]
    needed = frozenset[Dim]().union(*map(dims_of, sizes))
    copies = 1
    out: list[Axis] = []
    for axis in statement.axes:
        if is_tiny(axis) and axis.index not in needed and copies * axis.size.const <= COPIES:
            copies *= axis.size.const
        else:
            out.append(axis)
    return tuple(out)


def coefficient(e: Expr, index: Dim) -> int | None:
    """The factor of an index in an expression; None if the index is inside a compound term."""
    factor = 0
    for atom, k in e.terms:
        if atom == index:
            factor = k
        elif index in dims_of(Expr(((atom, 1),), 0)):
            return None
    return factor
