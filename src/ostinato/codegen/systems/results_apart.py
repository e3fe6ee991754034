"""Results of a Python function that travel in one row lie apart, but for the widest.

A reward that stands behind an image is kept for as long as returns need it, and the image is not.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from ostinato.codegen.ir.system import Axis, Load, Statement, System, fresh
from ostinato.codegen.ir.values import Rewrite
from ostinato.pdg.index import Dim, Expr, expr

NARROW = 16  # times shorter than its row is a result that is copied

Part = tuple[int, int]  # the first and the last position of a row, and one more


def results_apart(system: System) -> System:
    """Return the system with copies of the narrow results of functions, which others read."""
    taken = set(system.statements)
    copies: dict[tuple[str, Part], Statement] = {}
    for name, s in system.statements.items():
        if s.kind != "host" or not s.result_axes or name in system.outputs.values():
            continue
        for part in _narrow(s, system.statements):
            new = fresh(f"{name}_part", taken)
            taken.add(new)
            copies[name, part] = _copy(s, part, new)
    if not copies:
        return system
    return replace(system, statements=_reading(system.statements, copies))


def _narrow(host: Statement, statements: Mapping[str, Statement]) -> list[Part]:
    """The parts of a row that are read by themselves, and are much shorter than it."""
    size = host.result_axes[-1].size
    if not size.is_const:
        return []
    found: set[Part] = set()
    for s in statements.values():
        for load in _loads_of(s, host.name):
            part = _part(load.axes[-1], s)
            if part is None:
                return []  # at any position
            found.add(part)
    narrow = sorted(p for p in found if NARROW * (p[1] - p[0]) <= size.const)
    return [p for p in narrow if not any(_meet(p, other) for other in found - {p})]


def _loads_of(s: Statement, tensor: str) -> Iterator[Load]:
    return (x for x in s.reads if x.tensor == tensor)


def _part(at: Expr, reader: Statement) -> Part | None:
    """The positions that a load reads with an axis of its statement, all of which it runs over."""
    sizes = {axis.index: axis.size for axis in reader.axes}
    if at.is_const:
        return at.const, at.const + 1
    index = (at - at.const).as_dim()
    size = sizes.get(index) if index is not None else None
    return (at.const, at.const + size.const) if size is not None and size.is_const else None


def _meet(a: Part, b: Part) -> bool:
    return a[0] < b[1] and b[0] < a[1]


def _copy(host: Statement, part: Part, name: str) -> Statement:
    """A statement that copies a part of every row."""
    *others, row = host.result_axes
    index, first = Dim(row.index.name), part[0]
    own = tuple(expr(a.index) for a in others)
    dims = host.result_dims
    load = Load(host.name, tuple(map(expr, dims)), (*own, expr(index) + first), host.dtype)
    width = expr(part[1] - first)
    return Statement(
        name,
        "map",
        dims,
        (*others, Axis(index, width, width)),
        ((host.clauses[0][0], load),),
        host.dtype,
        where=host.where,
        label=host.label,
        base=host.name,
    )


def _reading(
    statements: Mapping[str, Statement], copies: Mapping[tuple[str, Part], Statement]
) -> dict[str, Statement]:
    """The statements, which read copies where there are some; each copy follows its function."""
    out: dict[str, Statement] = {}
    for name, s in statements.items():

        def moved(load: Load, reader: Statement = s) -> Load:
            part = _part(load.axes[-1], reader) if load.axes else None
            copy = copies.get((load.tensor, part)) if part else None
            if copy is None or part is None:
                return load
            return replace(load, tensor=copy.name, axes=(*load.axes[:-1], load.axes[-1] - part[0]))

        out[name] = Rewrite({}, moved).clauses(s)
        out |= {copy.name: copy for (tensor, _), copy in copies.items() if tensor == name}
    return out
