"""Values computed again, or read back from 16 bits, in the loops that read them later.

A value of every step that a later loop reads is memory that grows with the number of steps. Here
the later loop gets a copy of its equation, which reads only what is in memory there anyway. A copy
belongs to the loop of its readers: it says so (`Statement.later`), and nothing computes it earlier.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from ostinato.codegen.ir.extents import Sizes
from ostinato.codegen.ir.system import Call, Literal_, Load, Pick, Statement, System, Value, fresh
from ostinato.codegen.ir.values import Rewrite
from ostinato.codegen.planning.long_lived import Kept
from ostinato.codegen.systems.equation_cost import point_ns
from ostinato.codegen.systems.prepare import needed
from ostinato.pdg.condition import ALWAYS
from ostinato.pdg.index import Dim, Expr, expr
from ostinato.pdg.node import Dtype

Way = Literal["again"] | Dtype
Ways = Mapping[str, Way]  # lowered statement -> how later loops get it
Fixed = tuple[tuple[Dim, Expr], ...]  # a dim, and the only point of it that is read
COPIED = ("map", "fold", "matmul")  # kinds of equations that copies are made of
DEEPEST = 64  # equations that one value may take to compute again


class Unavailable(Exception):
    """A value that is not in memory where it is needed again, nor what it is made of."""


@dataclass
class _Copies:
    """Copies of equations, made once for every loop that needs them."""

    statements: dict[str, Statement]
    kept: Mapping[str, Kept]
    ways: Ways
    made: dict[tuple[str, int, Fixed], str] = field(
        default_factory=dict[tuple[str, int, Fixed], str]
    )
    open: list[str] = field(default_factory=list[str])

    def read(self, load: Load, loop: int, of: Kept) -> Value:
        """The load, of a copy if its tensor is not in memory in a loop that reads what was kept."""
        if load.tensor not in self.ways and load.tensor not in of.gone:
            return load
        source, way = self.statements[load.tensor], self.ways.get(load.tensor, "again")
        if load.picks and way != "again":  # no copy has the steps in this order
            self.decoded(source, way)
            bits = replace(load, tensor=f"{source.name}_{way}", dtype="uint16")
            return Call(f"{way}_value", (bits,), source.dtype)
        if load.picks:
            return self.spelled_out(load, of)
        is_map = way != "again" or source.kind in COPIED
        if load.clamp or not is_map:
            raise Unavailable(load.tensor)
        places = list(zip(source.result_dims, load.dims, strict=True))
        fixed = tuple((d, e) for d, e in places if not e.dims)
        if load.tensor in self.open or len(self.open) > DEEPEST:
            raise Unavailable(load.tensor)
        if self.open and any(e.dims and e.as_dim() != d for d, e in places):
            raise Unavailable(load.tensor)  # another step: all steps would be kept again
        name = self.copy(source, loop, fixed, of)
        away = {d for d, _ in fixed}
        return replace(load, tensor=name, dims=tuple(e for d, e in places if d not in away))

    def spelled_out(self, load: Load, of: Kept) -> Value:
        """The equation of a value at a computed step, for its reader; what it reads is kept.

        Errors: Unavailable if the equation says more than what it reads.
        """
        s = self.statements[load.tensor]
        if not _is_simple(s) or load.clamp or len(self.open) > DEEPEST:
            raise Unavailable(load.tensor)
        by = dict(zip(s.result_dims, load.dims, strict=True))
        by |= {a.index: e for a, e in zip(s.result_axes, load.axes, strict=True)}

        def read(inner: Load) -> Value:
            if inner.picks or inner.clamp:
                raise Unavailable(load.tensor)
            inner = replace(inner, picks=_mentioned(inner, load.picks))
            is_here = inner.tensor not in self.ways and inner.tensor not in of.gone
            if is_here or not _is_simple(self.statements[inner.tensor]):
                return inner
            return self.spelled_out(inner, of)

        self.open.append(s.name)
        ((_, value),) = s.clauses
        made = Rewrite(by, read).value(value)
        self.open.pop()
        return made

    def copy(self, s: Statement, loop: int, fixed: Fixed, of: Kept) -> str:
        key = (s.name, loop, fixed)
        if key not in self.made:
            self.open.append(s.name)
            way = self.ways.get(s.name, "again")
            source = s if way == "again" else self.decoded(s, way)
            rewrite = Rewrite(dict(fixed), lambda load: self.read(load, loop, of))
            made = rewrite.clauses(source)
            name = fresh(f"{s.name}_again", self.statements)
            away = {d for d, _ in fixed}
            dims = tuple(d for d in source.dims if d not in away)
            self.statements[name] = replace(
                made,
                name=name,
                dims=dims,
                axes=tuple(replace(a, size=rewrite.expr(a.size)) for a in made.axes),
                lanes=made.lanes - away,
                base=s.lowered,
                later=of.dims - away,
            )
            self.made[key] = name
            self.open.pop()
        return self.made[key]

    def decoded(self, s: Statement, half: Dtype) -> Statement:
        """The equation of a value that is read back from its bits."""
        name = f"{s.name}_{half}"
        if name not in self.statements:
            bits = s.map((ALWAYS, Call(f"{half}_bits", (s.here,), "uint16")))
            self.statements[name] = replace(bits, name=name, dtype="uint16", base=s.lowered)
        stored = replace(s.here, tensor=name, dtype="uint16")
        value = Call(f"{half}_value", (stored,), s.dtype)
        return replace(s.map((ALWAYS, value)), base=s.lowered)


def _is_simple(s: Statement) -> bool:
    """Whether a value is made of elements that it reads, by functions only."""
    return s.kind == "map" and len(s.clauses) == 1 and _of_loads(s.clauses[0][1])


def _of_loads(value: Value) -> bool:
    match value:
        case Load():
            return not value.picks
        case Literal_():
            return True
        case Call(_, args):
            return all(map(_of_loads, args))
        case _:
            return False


def _mentioned(load: Load, picks: Sequence[Pick]) -> tuple[Pick, ...]:
    """The computed indices that a load mentions, and those that their sizes mention."""
    open_ = {d for e in (*load.dims, *load.axes) for d in e.dims}
    found = list[Pick]()
    for pick in reversed(picks):
        if pick.axis.index in open_:
            found.insert(0, pick)
            open_ |= pick.axis.size.dims
    return tuple(found)


def again(system: System, kept: Sequence[Kept], ways: Ways) -> System:
    """Return the system in which later loops get the chosen values in the given ways.

    Errors: Unavailable if a value cannot be had so.
    """
    by_name = {k.tensor: k for k in kept}
    copies = _Copies(dict(system.statements), by_name, ways)
    for name, s in system.statements.items():
        loops = {t: by_name[t].far[name] for t in ways if name in by_name[t].far}
        if loops:

            def moved(load: Load, loops: Mapping[str, int] = loops, kind: str = s.kind) -> Value:
                if load.tensor not in loops:
                    return load
                if load.picks and kind == "matmul":
                    raise Unavailable(load.tensor)  # factors are loads
                return copies.read(load, loops[load.tensor], by_name[load.tensor])

            copies.statements[name] = Rewrite({}, moved).clauses(s)
    found = needed(copies.statements, system.outputs.values())
    return replace(system, statements=found)


def is_read_by_step(system: System, k: Kept) -> bool:
    """Whether later loops read one step of a value at a time, not all steps as an axis."""
    source = system.statements.get(k.tensor)
    if source is None:
        return False
    for name in k.far:
        reader = system.statements[name]
        axes = {a.index for a in reader.axes}
        for load in reader.reads:
            if load.tensor == k.tensor and any(e.dims & axes for e in load.dims):
                return False
    return True


def added_ns(system: System, changed: System, sizes: Sizes) -> float:
    """What the statements that a change adds take at one point of their loops, or take more."""
    total = 0.0
    for name, s in changed.statements.items():
        size, before = _terms(s, sizes) * sizes.elements(s.lowered), system.statements.get(name)
        if before is None:
            total += size * point_ns(s, size)
        elif before != s:
            total += size * max(0.0, point_ns(s, size) - point_ns(before, size))
    return total


def _terms(s: Statement, sizes: Sizes) -> float:
    """The terms that one element of the result takes."""
    axes = (sizes.steps(a.pad) for a in s.axes if a.index in s.reduced)
    dims = (sizes.steps(expr(d.extent)) for d in s.dims if d in s.reduced)
    return float(math.prod(axes) * math.prod(dims))
