"""Functions of whole axes: which indices are rows, and operands that lie as a row is read.

A row walks through its operands by strides, so every operand is a tensor whose axis is read from
end to end by one index. Anything else (another dim's history, a part, a value that is not stored)
is copied first, by an ordinary map.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from ostinato.codegen.fresh import fresh
from ostinato.codegen.system import Axis, Call, Load, Statement, System, Value
from ostinato.codegen.values import value_symbols
from ostinato.pdg.condition import ALWAYS
from ostinato.pdg.index import Dim, dims_of, expr


def rows(s: Statement) -> tuple[Axis, ...]:
    """The axes of a function of whole axes that are on their own at every position."""
    return tuple(a for a in s.result_axes if a.index is not s.along)


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
    """The system with a copy of every operand that does not lie as its row is read."""
    out: dict[str, Statement] = {}
    taken = set(system.statements)
    for name, s in system.statements.items():
        if s.kind == "along":
            args = list(operands(s))
            for k, x in enumerate(args):
                if not _is_whole(s, x, system.statements):
                    copy = _copy(s, x, fresh(f"{name}_operand", taken))
                    taken.add(copy.name)
                    out[copy.name], args[k] = copy, _identity(copy)
            s = replace(s, clauses=((ALWAYS, Call(s.fold, tuple(args), s.dtype)),))
        out[name] = s
    return replace(system, statements=out)


def _is_whole(s: Statement, x: Value, statements: Mapping[str, Statement]) -> bool:
    """Whether an operand is a load that one reduced index reads from end to end."""
    if not isinstance(x, Load) or x.picks or any(dims_of(d) & s.reduced for d in x.dims):
        return False
    axis, along = walked(s, x), 0
    for stored, at in zip(statements[x.tensor].result_axes, x.axes, strict=True):
        if dims_of(at) & s.reduced:
            assert axis is not None, "a reduced index is an axis"
            along += 1
            if at != expr(axis.index) or axis.pad != stored.pad:
                return False
    return along == (axis is not None)


def _copy(s: Statement, x: Value, name: str) -> Statement:
    """An operand as a tensor of its own, over the indices that it varies with."""
    used = {d for d in value_symbols(x) if isinstance(d, Dim)}
    axis = walked(s, x)
    order = [axis if a.index is s.along else a for a in s.result_axes]
    order += [] if axis in order else [axis]
    kept = [a for a in order if a is not None and a.index in used]
    for a in kept:
        used |= dims_of(a.size)
    dims = tuple(d for d in s.result_dims if d in used)
    lanes = s.lanes & set(dims)
    return Statement(
        name, "map", dims, tuple(kept), ((ALWAYS, x),), x.dtype, lanes, where=s.where,
    )  # fmt: skip


def _identity(s: Statement) -> Load:
    axes = tuple(expr(a.index) for a in s.axes)
    return Load(s.name, tuple(map(expr, s.dims)), axes, s.dtype)
