"""Small parts of a value lie apart from it, where others read only these at other points.

Results of a Python function travel in one row: a reward that stands behind an image is kept for as
long as returns need it, and the image is not. Of what a loop carries, elements that are read along
an axis of all steps are kept, and the other elements are not.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from ostinato.codegen.ir.system import Axis, Load, Statement, System, fresh
from ostinato.codegen.ir.values import Rewrite
from ostinato.codegen.systems.carried import carried_dims
from ostinato.codegen.systems.tile_choice import FEW
from ostinato.pdg.condition import ALWAYS, some
from ostinato.pdg.index import Dim, Expr, expr


@dataclass(frozen=True)
class Span:
    """Positions along an axis: the first, and how many."""

    first: int
    size: Expr

    def meets(self, other: Span) -> bool:
        if not (self.size.is_const and other.size.is_const):
            return True
        ends = self.first + self.size.const, other.first + other.size.const
        return max(self.first, other.first) < min(ends)


Part = tuple[Span, ...]  # one span for each axis
Reads = Sequence[tuple[str, Load]]  # readers, and what they load


def parts_apart(system: System) -> System:
    """Return the system with copies of small parts, which others read."""
    taken = set(system.statements)
    copies: dict[str, dict[Part, Statement]] = {}
    wanted = _wanted(system)
    for name, loads in wanted.items():
        s = system.statements[name]
        for part in _small(s, loads, system.statements):
            new = fresh(f"{name}_part", taken)
            taken.add(new)
            copies.setdefault(name, {})[part] = _copy(s, part, new)
    if not copies:
        return system
    return replace(system, statements=_reading(system.statements, wanted, copies))


def _wanted(system: System) -> Mapping[str, Reads]:
    """What has axes and is no output, and its reads: of what a loop carries those along axes."""
    statements = system.statements
    carried = carried_dims(statements)
    ends = {*system.outputs.values()}
    out: dict[str, list[tuple[str, Load]]] = {}
    for reader in statements.values():
        own = {a.index for a in reader.axes}
        for load in reader.reads:
            s = statements[load.tensor]
            if not s.result_axes or s.name in ends:
                continue
            steps = zip(s.result_dims, load.dims, strict=True)
            along = any(at.dims & own for step, at in steps if step in carried[s.name])
            if s.kind == "host" or along:
                out.setdefault(s.name, []).append((reader.name, load))
    return out


def _small(s: Statement, reads: Reads, statements: Mapping[str, Statement]) -> list[Part]:
    """The parts that are read by themselves, and together are much smaller than the whole.

    Each result of a function counts by itself.
    """
    found = {_part(load, statements[reader], s) for reader, load in reads}
    if s.kind != "host" and FEW * sum(_share(p, s) for p in found) > 1:
        return []
    small = (p for p in found if FEW * _share(p, s) <= 1)
    alone = (p for p in small if not any(_meet(p, other) for other in found - {p}))
    return sorted(alone, key=lambda p: [span.first for span in p])


def _part(load: Load, reader: Statement, s: Statement) -> Part:
    """Where a load reads: at one position, those of an axis of its statement, or anywhere."""
    sizes = {axis.index: axis.size for axis in reader.axes}

    def span(at: Expr, axis: Axis) -> Span:
        index = None if at.is_const else (at - at.const).as_dim()
        size = expr(1) if at.is_const else sizes.get(index) if index is not None else None
        return Span(0, axis.size) if size is None or load.clamp == "all" else Span(at.const, size)

    return tuple(map(span, load.axes, s.result_axes))


def _share(part: Part, s: Statement) -> Fraction:
    """How much of a value a part is."""
    out = Fraction(1)
    for span, axis in zip(part, s.result_axes, strict=True):
        if span.size.is_const and axis.size.is_const:
            out *= Fraction(span.size.const, max(1, axis.size.const))
    return out


def _meet(a: Part, b: Part) -> bool:
    return all(one.meets(other) for one, other in zip(a, b, strict=True))


def _copy(s: Statement, part: Part, name: str) -> Statement:
    """A statement that copies a part at every point."""
    dims = s.result_dims
    axes = [
        axis if span.size == axis.size else Axis(Dim(axis.index.name), span.size, span.size)
        for axis, span in zip(s.result_axes, part, strict=True)
    ]
    own = tuple(expr(a.index) + span.first for a, span in zip(axes, part, strict=True))
    load = Load(s.name, tuple(map(expr, dims)), own, s.dtype)
    is_whole = s.kind in ("map", "host")
    cond = some(*(c for c, _ in s.clauses)) if is_whole else ALWAYS
    return Statement(
        name,
        "map",
        dims,
        tuple(axes),
        ((cond, load),),
        s.dtype,
        where=s.where,
        label=s.label,
        base=s.name,
    )


def _reading(
    statements: Mapping[str, Statement],
    wanted: Mapping[str, Reads],
    copies: Mapping[str, Mapping[Part, Statement]],
) -> dict[str, Statement]:
    """The statements, which read copies where there are some; each follows what it copies."""
    moved = {read for name in copies for read in wanted[name]}
    out: dict[str, Statement] = {}
    for name, s in statements.items():

        def instead(load: Load, reader: Statement = s) -> Load:
            if (reader.name, load) not in moved:
                return load
            part = _part(load, reader, statements[load.tensor])
            copy = copies[load.tensor].get(part)
            if copy is None:
                return load
            axes = tuple(at - span.first for at, span in zip(load.axes, part, strict=True))
            return replace(load, tensor=copy.name, axes=axes)

        out[name] = Rewrite({}, instead).clauses(s)
        out |= {copy.name: copy for copy in copies.get(name, {}).values()}
    return out
