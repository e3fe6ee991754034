"""Which axes are loops, which are unrolled, and in which position a load addresses them.

Most operands of functions of whole axes are read once, in order, and may be any value. Sorting and
searching jump about in their first operand, by strides: it is a tensor whose axis one index reads
from end to end. Anything else (another dim's history, a part, a value that is not stored) is copied
first. So is what a shuffle follows: its draws are vector code where they are computed for all
positions at once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from ostinato.codegen.ir.partial_sums import COPIES, UNROLLED
from ostinato.codegen.ir.system import Axis, Call, Load, Statement, System, Value, fresh
from ostinato.codegen.ir.values import value_symbols
from ostinato.pdg.axis_functions import AXIS_FUNCTIONS
from ostinato.pdg.condition import ALWAYS
from ostinato.pdg.index import Dim, Expr, expr

FEWEST = 8  # positions of an axis that workers share: an axis with fewer is left to one worker


def cut_axis(axes: Sequence[Axis]) -> Axis | None:
    """The outermost of several axes of constant size, if workers may share its positions."""
    if len(axes) < 2 or not all(a.size == a.pad and a.size.is_const for a in axes):
        return None
    return axes[0] if axes[0].size.as_int() >= FEWEST else None


def is_tiny(axis: Axis) -> bool:
    """Whether an axis has a literal size that is worth unrolling."""
    return axis.size.is_const and axis.size.const <= UNROLLED


def long_axes(statement: Statement) -> tuple[Axis, ...]:
    """The axes that are loops: not tiny, needed by the size of another axis, or too many copies."""
    sizes = [a.size for a in statement.axes if not a.size.is_const]
    needed = frozenset[Dim]().union(*(each.dims for each in sizes))
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
        elif index in Expr(((atom, 1),), 0).dims:
            return None
    return factor


def is_contiguous(load: Load, axis: Axis) -> bool:
    """Whether neighbours along an axis are neighbours in memory."""
    *others, last = (*load.dims, *load.axes) or (expr(0),)
    if coefficient(last, axis.index) != 1:
        return False
    return all(axis.index not in e.dims for e in others)


JUMPING = frozenset(f.name for f in AXIS_FUNCTIONS.values() if f.positions)  # read at any place


def rows(s: Statement) -> tuple[Axis, ...]:
    """The axes of a function of whole axes that are on their own at every position."""
    return tuple(a for a in s.result_axes if a.index != s.along)


def operands(s: Statement) -> tuple[Value, ...]:
    """What a function of whole axes reads."""
    (_, value), *_ = s.clauses
    assert isinstance(value, Call), f"{s.name} is no function of whole axes"
    return value.args


def walked(s: Statement, operand: Value) -> Axis | None:
    """The reduced axis that indexes an operand; None where it has one position."""
    found = value_symbols(operand) & s.reduced
    return next((a for a in s.axes if a.index in found), None)


def whole_operands(system: System) -> System:
    """The system with a copy of every row that is read at any place but does not lie so."""
    out: dict[str, Statement] = {}
    taken = set(system.statements)
    for name, s in system.statements.items():
        out[name] = s
        if s.kind == "along" and s.fold in JUMPING:
            row, *others = operands(s)
            if not _is_whole(s, row, system.statements):
                copy = _copy(s, row, fresh(f"{name}_row", taken))
                taken.add(copy.name)
                out[copy.name] = copy
                value = Call(s.fold, (_identity(copy), *others), s.dtype)
                out[name] = replace(s, clauses=((ALWAYS, value),))
    return replace(system, statements=out)


def _is_whole(s: Statement, x: Value, statements: Mapping[str, Statement]) -> bool:
    """Whether an operand is a load that one reduced index reads from end to end."""
    if not isinstance(x, Load) or x.picks or any(d.dims & s.reduced for d in x.dims):
        return False
    axis, along = walked(s, x), 0
    for stored, at in zip(statements[x.tensor].result_axes, x.axes, strict=True):
        if at.dims & s.reduced:
            assert axis is not None, "a reduced index is an axis"
            along += 1
            if at != expr(axis.index) or axis.pad != stored.pad:
                return False
    return along == (axis is not None)


def _copy(s: Statement, x: Value, name: str) -> Statement:
    """An operand as a tensor of its own, over the indices that it varies with."""
    used = {d for d in value_symbols(x) if isinstance(d, Dim)}
    axis = walked(s, x)
    order = [axis if a.index == s.along else a for a in s.result_axes]
    order += [] if axis in order else [axis]
    kept = [a for a in order if a is not None and a.index in used]
    for a in kept:
        used |= a.size.dims
    dims = tuple(d for d in s.result_dims if d in used)
    lanes = s.lanes & set(dims)
    return Statement(
        name, "map", dims, tuple(kept), ((ALWAYS, x),), x.dtype, lanes, where=s.where,
        base=s.lowered,
    )  # fmt: skip


def _identity(s: Statement) -> Load:
    axes = tuple(expr(a.index) for a in s.axes)
    return Load(s.name, tuple(map(expr, s.dims)), axes, s.dtype)
