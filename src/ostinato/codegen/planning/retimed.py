"""Readers that look some steps ahead run so many steps later, in the loop that computes the steps.

``g[t] = x[t] + x[t + 8]`` needs a loop of its own after that of ``x``, which keeps all of its
steps. As ``g_late[t] = x[t - 8] + x[t]`` it shares the loop, and nine steps are kept. All that
reads ahead, or reads such a value, becomes two: one for most steps, late, and one for the last
steps, in a loop of as many as are looked ahead. What folds over the steps folds over both. A sum
adds up in another order then.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from ostinato.codegen.ir.system import (
    Call,
    Choice,
    Literal_,
    Load,
    Statement,
    System,
    Value,
    fresh,
    loads,
)
from ostinato.codegen.ir.values import Rewrite
from ostinato.codegen.planning.rematerialise import Unavailable
from ostinato.codegen.systems.delay import span
from ostinato.codegen.systems.prepare import needed
from ostinato.pdg.condition import ALWAYS, Cond, at_least, every
from ostinato.pdg.functions import FLOATS, FOLDS, REPEATED, fold_unit
from ostinato.pdg.index import Dim, Expr, expr

FARTHEST = 64  # steps that a reader runs later: a loop of so many comes after the long one
MOVED = ("map", "fold", "matmul", "along")  # kinds of equations that may run at another step


@dataclass(frozen=True)
class Retimed:
    """A system with late readers; ``origins`` gives what its new statements stand for."""

    system: System
    origins: Mapping[str, str]
    steps: int


def retimed(system: System, dim: Dim, exact: bool = False) -> Retimed:
    """Return the system in which nothing looks ahead along a dim but loops of a few steps.

    Errors: Unavailable if something looks ahead as far as there are steps, or nothing at all; in an
    ``exact`` one also if a sum would be taken in parts.
    """
    system = replace(system, statements=needed(system.statements, system.outputs.values()))
    late = _delays(system, dim)
    folds = (system.statements[n] for n in late if dim in system.statements[n].reduced)
    if not late or (exact and any(FOLDS[s.fold].rounds and s.dtype in FLOATS for s in folds)):
        raise Unavailable(dim.name)
    made = _Retiming(system, dim, late)
    for s in system.statements.values():
        made.add(s)
    found = needed(made.out, system.outputs.values())
    nodes = system.nodes | {
        n: system.nodes[of] for n, of in made.origins.items() if of in system.nodes
    }
    origins = {n: of for n, of in made.origins.items() if n in found}
    return Retimed(replace(system, statements=found, nodes=nodes), origins, made.steps)


Reads = Sequence[tuple[str, str, int | None]]  # who reads what, how many steps ahead at most


def _delays(system: System, dim: Dim) -> dict[str, int]:
    """How many steps later what reads ahead has to run: the least that is enough.

    Errors: Unavailable if there is no such number, or something cannot run later.
    """
    reads = [
        (s.name, x.tensor, _ahead(x, s, system, dim))
        for s in system.statements.values()
        for x in s.reads
        if dim in system.statements[x.tensor].result_dims
    ]
    late = _settled(reads)
    outputs = {*system.outputs.values()}
    for name in late:
        s = system.statements[name]
        is_held = dim not in s.dims or (name in outputs and dim in s.result_dims)
        if s.kind not in MOVED or is_held or (dim in s.reduced and s.fold not in REPEATED):
            raise Unavailable(name)
    return late


def _settled(reads: Reads) -> dict[str, int]:
    """The least steps at which no reader is earlier than what it reads."""
    late, more = dict[str, int](), dict[str, int]()
    while True:
        for reader, tensor, steps in reads:
            if steps is not None and late.get(tensor, 0) + steps > late.get(reader, 0):
                more[reader] = max(more.get(reader, 0), late.get(tensor, 0) + steps)
        if not more:
            break
        late, more = late | more, {}
        if max(late.values()) > FARTHEST:
            raise Unavailable(max(late, key=lambda name: late[name]))
    for reader, tensor, steps in reads:
        if tensor in late and steps is None:
            raise Unavailable(reader)
    return late


def _ahead(x: Load, s: Statement, system: System, dim: Dim) -> int | None:
    """How many steps ahead of its reader a load is at most, if only axes change that."""
    found = _span(x.dims[system.statements[x.tensor].result_dims.index(dim)] - dim, x, s)
    return found and found[1]


def _span(gap: Expr, x: Load, s: Statement) -> tuple[int, int] | None:
    """The least and the greatest value of a distance, however long axes are at a step."""
    return span(gap, {a.index: a.pad for a in (*s.axes, *(pick.axis for pick in x.picks))})


@dataclass
class _Retiming:
    """A system while what reads ahead along a dim becomes late."""

    system: System
    dim: Dim
    late: Mapping[str, int]
    out: dict[str, Statement] = field(default_factory=dict[str, Statement])
    origins: dict[str, str] = field(default_factory=dict[str, str])
    names: dict[tuple[str, str], str] = field(default_factory=dict[tuple[str, str], str])

    def __post_init__(self) -> None:
        self.steps = max(self.late.values())
        self.last = Dim(f"{self.dim.name}_last", size=expr(self.steps))

    def add(self, s: Statement) -> None:
        """Add a statement: as it is, or late and for the last steps."""
        if s.name not in self.late:
            self.out[s.name] = Rewrite({}, self.late_load).clauses(s)
            return
        steps, whole = self.late[s.name], expr(self.dim.extent)
        point = whole - self.steps + self.last
        inside = every(at_least(self.last, self.steps - steps), at_least(point, 0))
        parts = (
            self.part(s, "late", self.dim, expr(self.dim) - steps, at_least(self.dim, steps)),
            self.part(s, "last", self.last, point, inside),
        )
        if self.dim not in s.reduced:
            return
        both = tuple(replace(s.here, tensor=name) for name in parts)
        self.out[s.name] = s.map((ALWAYS, Call(REPEATED[s.fold], both, s.dtype)))

    def part(self, s: Statement, kind: str, dim: Dim, step: Expr, inside: Cond) -> str:
        """The statement at some step of every point of a dim; a fold takes points inside only."""
        name = self.name(s.name, kind)

        def read(x: Load) -> Value:
            if self.is_along(x) or any(dim in e.dims for e in x.axes):
                x = x.moved_along(dim)
            if not self.is_along(x):
                return x
            return self.late_load(x) if kind == "late" else self.last_load(x, s)

        rewrite = Rewrite({self.dim: step}, read)
        made = replace(
            s,
            name=name,
            dims=tuple(dim if d == self.dim else d for d in s.dims),
            axes=tuple(replace(a, size=rewrite.expr(a.size)) for a in s.axes),
            lanes=s.lanes - {self.dim},  # step by step, as what they read
            reduced=frozenset(dim if d == self.dim else d for d in s.reduced),
        )
        made = rewrite.clauses(made)
        self.out[name] = self.only(made, dim, inside, s.name) if dim in made.reduced else made
        return name

    def late_load(self, x: Load) -> Load:
        """A load of what is late now."""
        if x.tensor not in self.late or not self.is_along(x):
            return x
        return self.moved(x, "late", expr(self.late[x.tensor]))

    def last_load(self, x: Load, reader: Statement) -> Value:
        """A load by a statement for the last steps: of such a one, or before these a late one."""
        if x.tensor not in self.late:
            return x
        found = self.moved(x, "last", expr(self.steps) - expr(self.dim.extent))
        at = found.dims[self.place(x)]
        ahead = _span(at - self.last, x, reader)
        assert ahead is not None, f"{reader.name} reads {x.tensor} anywhere"
        if ahead[0] >= 0:
            return found
        if reader.kind != "map" and reader.kind != "fold":
            raise Unavailable(reader.name)  # it takes loads only
        return Choice(at_least(at, 0), found, self.late_load(x), x.dtype)

    def is_along(self, x: Load) -> bool:
        return self.dim in self.system.statements[x.tensor].result_dims

    def place(self, x: Load) -> int:
        return self.system.statements[x.tensor].result_dims.index(self.dim)

    def moved(self, x: Load, kind: str, more: Expr) -> Load:
        place = self.place(x)
        dims = (*x.dims[:place], x.dims[place] + more, *x.dims[place + 1 :])
        return replace(x, tensor=self.name(x.tensor, kind), dims=dims)

    def only(self, s: Statement, dim: Dim, inside: Cond, of: str) -> Statement:
        """A fold over a dim that takes the points inside only."""
        if s.kind == "fold":
            unit = Literal_(fold_unit(s.fold, s.dtype), s.dtype)
            clauses = tuple((c, Choice(inside, v, unit, v.dtype)) for c, v in s.clauses)
            return replace(s, clauses=clauses)
        ((_, value),) = s.clauses
        along = [x for x in loads(value) if dim in {d for e in x.dims for d in e.dims}]
        taken = {x: self.taken(s, x, f"taken{k}", inside, of) for k, x in enumerate(along)}

        def read(x: Load) -> Value:
            return taken.get(x, x)

        return Rewrite({}, read).clauses(s)

    def taken(self, s: Statement, x: Load, kind: str, inside: Cond, of: str) -> Load:
        """What a product takes as a value of its own, which is 0 outside."""
        name = self.name(s.name, kind, of)
        source = self.system.statements[self.origins.get(x.tensor, x.tensor)]
        indices = {d for e in (*x.dims, *x.axes) for d in e.dims}
        dims = tuple(d for d in s.dims if d in indices)
        axes = tuple(a for a in s.axes if a.index in indices)
        zero = Literal_(0, x.dtype)
        made = source.map((ALWAYS, Choice(inside, x, zero, x.dtype)))
        made = replace(made, name=name, dims=dims, axes=axes, lanes=s.lanes & indices)
        self.out[name] = made
        return made.here

    def name(self, of: str, kind: str, origin: str = "") -> str:
        key = (of, kind)
        if key not in self.names:
            taken = self.system.statements.keys() | self.origins.keys()
            self.names[key] = fresh(f"{of}_{kind}", taken)
            self.origins[self.names[key]] = origin or of
        return self.names[key]
