"""What is added to a few entries of a table that a loop carries changes no others.

``w + one_hot(place, n)`` and ``w + where(position == place, v, 0)`` add zeros to all others: both
are ``where(position == place, w + v, w)``, for which `ostinato.codegen.masks.kept_elements` visits
one entry.

``w + scatter_add(updates, places, n)`` passes over all of ``w`` to change a few entries. In a loop
of its own, with a step for each of the places, an update changes one entry, and all of them take
place where ``w`` lies.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields, replace
from math import isfinite
from typing import Any

from ostinato.codegen.ir.changed_elements import bounds_of
from ostinato.codegen.ir.system import (
    Axis,
    Call,
    Literal_,
    Load,
    Position,
    Statement,
    System,
    Value,
    fresh,
)
from ostinato.codegen.ir.values import Rewrite
from ostinato.codegen.systems.axes import operands, walked
from ostinato.codegen.systems.carried import carried_dims
from ostinato.codegen.systems.tile_choice import FEW, usual
from ostinato.codegen.target import Target
from ostinato.pdg.bounds import is_never_negative
from ostinato.pdg.condition import equal, every
from ostinato.pdg.functions import FLOATS
from ostinato.pdg.index import Dim, expr


@dataclass(frozen=True)
class _Sum:
    """``table + more``, which scales sums at positions along a row that nothing else reads."""

    s: Statement
    table: Load
    more: Value
    sums: Load
    scatter: Statement
    row: Axis
    steps: Axis  # of the places


@dataclass(frozen=True)
class InTurn(System):
    """A system in which some sums are added in turn, and the tensors that have to share memory.

    Where they do not, each step would copy a table: such a system is worse than the one before.
    """

    shared: tuple[tuple[str, ...], ...] = ()


def few_changed(system: System, exact: bool) -> System:
    """Return the system with choices, where zeros are added to all entries but few.

    An ``exact`` program tells -0.0 from 0.0, which it becomes where zero is added.
    """
    out = dict(system.statements)
    for name, s in system.statements.items():
        if s.kind == "map" and not (exact and s.dtype in FLOATS):
            values = [_where(s, value) for _, value in s.clauses]
            both = zip(s.clauses, values, strict=True)
            if any(values):
                out[name] = replace(s, clauses=tuple((c, new or old) for (c, old), new in both))
    return replace(system, statements=out)


def entries_in_turn(system: System, target: Target, exact: bool) -> System:
    """Return the system with loops over places in the place of sums at them.

    Floats add up in another order than is written, so an ``exact`` program has only integers so.
    Threads that do an item together pass over a table in less time than they take turns.
    """
    found = {x.s.name: x for x in _sums(system) if not (exact and x.s.dtype in FLOATS)}
    if not found or target.deals_out_rows:
        return system
    gone = {each.scatter.name for each in found.values()}
    out: dict[str, Statement] = {}
    shared: list[tuple[str, ...]] = []
    taken = set(system.statements)
    for name, s in system.statements.items():
        if name in found:
            *steps, last = _in_turn(found[name], taken)
            out |= {step.name: step for step in steps}
            out[name] = last
            shared.append((found[name].table.tensor, *(step.name for step in steps), name))
        elif name not in gone:
            out[name] = s
    kept: dict[str, Any] = {f.name: getattr(system, f.name) for f in fields(system)}
    return replace(InTurn(**kept, shared=tuple(shared)), statements=out)


def _where(s: Statement, value: Value) -> Value | None:
    """A sum as a choice of what it changes, if that is few entries of what it reads."""
    match value:
        case Call("add", (Load() as old, more)) | Call("sub", (Load() as old, more)):
            pass
        case Call("add", (more, Load() as old)):
            pass
        case _:
            return None
    found = _unless_zero(more) if old.axes == s.here.axes and not old.picks else None
    if found is None or not bounds_of(found[0]):
        return None
    test, added = found
    return Call("where", (test, Call(value.fn, (old, added), s.dtype), old), s.dtype)


def _unless_zero(value: Value) -> tuple[Value, Value] | None:
    """A test without which a value is 0, and what it is where it holds."""
    match value:
        case Call("where", (test, of, Literal_() as none)) if none.is_zero:
            return test, of
        case Call("cast", (test,)) if test.dtype == "bool":
            return test, Literal_(1.0 if value.dtype in FLOATS else 1, value.dtype)
        case Call("neg" | "stop_gradient" as fn, (of,)):
            found = _unless_zero(of)
            return found and (found[0], Call(fn, (found[1],), value.dtype))
        case Call("mul", (a, b)):
            pairs = ((_unless_zero(a), b), (_unless_zero(b), a))
            return next(((_or_not_finite(x[0], by), value) for x, by in pairs if x), None)
        case _:
            return None


def _or_not_finite(test: Value, by: Value) -> Value:
    """A test, or that 0 times a value is NaN."""
    if by.dtype not in FLOATS or (isinstance(by, Literal_) and isfinite(by.value)):
        return test
    is_finite = Call("isfinite", (by,), "bool")
    return Call("or", (test, Call("not", (is_finite,), "bool")), "bool")


def _sums(system: System) -> Iterator[_Sum]:
    statements = system.statements
    if not any(s.fold == "scatter" for s in statements.values()):
        return
    carried = carried_dims(statements)
    ends = {*system.outputs.values()}
    readers = Counter(x.tensor for s in statements.values() for x in s.reads)
    for s in statements.values():
        if s.kind != "map" or not carried[s.name] or len(s.clauses) != 1 or s.name in ends:
            continue
        sums = (x for x in s.reads if statements[x.tensor].fold == "scatter")
        alone = (x for x in sums if readers[x.tensor] == 1 and x.tensor not in ends)
        found = (_sum(s, x, statements[x.tensor], system.hints) for x in alone)
        if first := next((x for x in found if x and carried[x.table.tensor]), None):
            yield first


def _sum(s: Statement, x: Load, scatter: Statement, hints: Mapping[str, int]) -> _Sum | None:
    """A statement as such a sum, if few entries of a table change."""
    own = s.here.axes
    ((_, value),) = s.clauses
    match value:
        case Call("add", (Load() as table, more)) if table != x:
            pass
        case Call("add", (more, Load() as table)) | Call("sub", (Load() as table, more)):
            pass
        case _:
            return None
    if (x.dims, table.axes) != (scatter.here.dims, own) or x.clamp or table.picks:
        return None
    axes = {a.index: at for a, at in zip(scatter.result_axes, x.axes, strict=True)}
    at = axes.get(scatter.along) if scatter.along is not None else None
    row = next((a for a in s.result_axes if at == expr(a.index)), None)
    steps = next((a for a in (walked(scatter, y) for y in operands(scatter)) if a), None)
    if row is None or steps is None or not _scales(more, x):
        return None
    is_some = not steps.size.dims and is_never_negative(steps.size - 1)
    is_few = usual(row.size, hints) >= FEW * usual(steps.size, hints)
    return _Sum(s, table, more, x, scatter, row, steps) if is_some and is_few else None


def _scales(value: Value, x: Load) -> bool:
    """Whether a value is a load times a number: what is 0 at an entry changes nothing there."""
    match value:
        case Load():
            return value == x
        case Call("neg" | "stop_gradient", (of,)):
            return _scales(of, x)
        case Call("mul", (Literal_(by), of)) | Call("mul", (of, Literal_(by))):
            return isfinite(by) and _scales(of, x)
        case Call("div", (of, Literal_(by))):
            return isfinite(by) and by != 0 and _scales(of, x)
        case _:
            return False


def _in_turn(found: _Sum, taken: set[str]) -> Iterator[Statement]:
    """The table as a step finds it, as it leaves it, and as the last one leaves it."""
    s, own = found.s, found.s.here.axes
    before, after = (_fresh(f"{n}_in_turn", taken) for n in (found.table.tensor, s.name))
    k = Dim("place", size=found.steps.size)
    dims = tuple(map(expr, s.dims))
    old = Load(before, (*dims, expr(k)), own, s.dtype)
    rows = zip(found.scatter.result_axes, found.sums.axes, strict=True)
    at = Rewrite({found.steps.index: expr(k), **{a.index: e for a, e in rows}})
    update, place = map(at.value, operands(found.scatter))
    more = Rewrite({}, lambda x: update if x == found.sums else x).value(found.more)
    ((cond, value),) = s.clauses
    assert isinstance(value, Call), "a sum"
    test = Call("eq", (Position(expr(found.row.index)), place), "bool")
    new = Call("where", (test, Call(value.fn, (old, more), s.dtype), old), s.dtype)
    step = replace(s, dims=(*s.dims, k), base=s.lowered)
    made = Load(after, (*dims, expr(k) - 1), own, s.dtype)
    first = every(cond, equal(k, 0)), found.table
    yield replace(step, name=before, clauses=(first, (cond, made)))
    yield replace(step, name=after, clauses=((cond, new),))
    last = replace(made, dims=(*dims, found.steps.size - 1))
    yield replace(s, clauses=((cond, last),))


def _fresh(name: str, taken: set[str]) -> str:
    found = fresh(name, taken)
    taken.add(found)
    return found
