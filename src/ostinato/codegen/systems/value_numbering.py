"""Equal statements become one: value numbering of a system.

A value gets a number by what it is made of: two values with one number are equal at every point. A
map that is read counts as its equation, so it does not matter which parts of a value are stored.
What is read at other steps of a recurrence counts by its name. Draws are equal if they are the same
draw: the same operator at the same point.

Rewriting makes such statements where a recurrence needs a value step by step and others want all
steps of it at once: both are in the same loop in the end.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from typing import assert_never

from ostinato.codegen.ir.system import (
    Call,
    Choice,
    Draw,
    Literal_,
    Load,
    Position,
    Statement,
    System,
    Value,
    children,
)
from ostinato.codegen.ir.tree import Tree, sites
from ostinato.codegen.ir.values import Rewrite
from ostinato.codegen.systems.prepare import needed
from ostinato.pdg.condition import ALWAYS, Cond
from ostinato.pdg.index import Dim, Expr, expr
from ostinato.pdg.scc import components

Indices = Mapping[Dim, Expr]
DEEPEST = 32  # equations that are read through one another: more are told apart by name
MOST_OPERATORS = 200  # one within the other in such equations, as Python recurses along them


def joined(system: System, same: Mapping[str, str]) -> System:
    """The system in which some statements stand for others."""
    known = {a: b for a, b in same.items() if {a, b} <= system.statements.keys()}
    outputs = frozenset(system.outputs.values())
    return replace(system, statements=merged(system.statements, known, outputs))


def merged(
    statements: Mapping[str, Statement], same: Mapping[str, str], outputs: frozenset[str]
) -> dict[str, Statement]:
    """The statements that are needed where some stand for others.

    Dims of one step, which were not there when the two were found equal, may differ.
    """

    def load(x: Load) -> Value:
        if x.tensor not in same:
            return x
        other = statements[same[x.tensor]]
        at = dict(zip(statements[x.tensor].result_dims, x.dims, strict=True))
        return replace(
            x, tensor=other.name, dims=tuple(at.get(d, expr(0)) for d in other.result_dims)
        )

    rewrite = Rewrite({}, load)
    return needed({n: rewrite.clauses(s) for n, s in statements.items()}, outputs)


def same_in_loops(
    statements: Mapping[str, Statement], trees: Sequence[Tree], outputs: frozenset[str]
) -> dict[str, str]:
    """For statements that need not be computed the equal one in the same loops that stays.

    An equal value in another loop would have to be kept for it, which may take more than computing
    it again.
    """
    numbers, places = _Numbers(statements), sites(trees)
    groups: dict[Hashable, list[str]] = {}
    for name, s in statements.items():
        if s.kind not in ("input", "host") and name in places:
            loops = tuple(id(loop) for loop in places[name].path)
            groups.setdefault((numbers.statement(name), loops), []).append(name)
    out: dict[str, str] = {}
    for names in groups.values():
        copies = {n for n in names if not numbers.reads[n].isdisjoint(names)}  # of one that stays
        best = min(names, key=lambda n: (n in copies, n not in outputs, not statements[n].label))
        out |= {n: best for n in names if n is not best and n not in outputs}
    return out


@cache
def _place(number: int) -> Dim:
    """The name of an own index, the same for every statement."""
    return Dim(f"x{number}", serial=-1 - number)


@dataclass
class _Numbers:
    """Numbers for values, statements, and everything else that they are made of."""

    statements: Mapping[str, Statement]
    known: dict[Hashable, int] = field(default_factory=dict[Hashable, int])
    done: dict[str, int] = field(default_factory=dict[str, int])
    read: dict[Load, int] = field(default_factory=dict[Load, int])
    open: set[str] = field(default_factory=set[str])
    heights: dict[str, int] = field(default_factory=dict[str, int])
    picked: int = 0
    depth: int = 0
    reads: dict[str, frozenset[str]] = field(init=False)

    def __post_init__(self) -> None:
        reads = {n: [x.tensor for x in s.reads] for n, s in self.statements.items()}
        self.reads = {n: frozenset(found) for n, found in reads.items()}
        groups = components(list(reads), reads)
        around = (set(group) for group in groups if len(group) > 1)
        self.cyclic = {n for n, found in reads.items() if n in found}.union(*around)
        for name in (name for group in reversed(groups) for name in group):
            self.statement(name)

    def number(self, key: Hashable) -> int:
        return self.known.setdefault(key, len(self.known))

    def statement(self, name: str) -> int:
        """The number of all values of a statement."""
        s = self.statements[name]
        is_carried = name in self.cyclic and len(s.clauses) > 1
        if s.kind in ("input", "host") or is_carried or name in self.open:
            return self.number(("named", name))
        if name not in self.done:
            self.open.add(name)
            self.done[name] = self.number(self.key(s))
            self.open.discard(name)
        return self.done[name]

    def key(self, s: Statement) -> Hashable:
        at: Indices = {a.index: expr(_place(k)) for k, a in enumerate(s.axes)}
        axes = tuple(
            (a.size.at(at), a.pad, a.index in s.reduced, a.index in s.lanes) for a in s.axes
        )
        dims = tuple((d, d in s.reduced, d in s.lanes) for d in s.dims)
        along = None if s.along is None else at[s.along]
        values = tuple((_at(cond, at), self.value(value, at)) for cond, value in s.clauses)
        return s.kind, s.fold, s.dtype, along, s.later, dims, axes, values

    def value(self, value: Value, at: Indices) -> int:
        """The number of a value where its indices stand for expressions."""
        match value:
            case Literal_():
                return self.number(value)
            case Position(of, dtype):
                return self.number(("position", of.at(at), dtype))
            case Draw(fn, stream, point, element, dtype):
                where = tuple(e.at(at) for e in point)
                return self.number((fn, stream, where, element.at(at), dtype))
            case Call("stop_gradient", (x,)):
                return self.value(x, at)
            case Call(fn, args, dtype):
                return self.number(("call", fn, *(self.value(x, at) for x in args), dtype))
            case Choice(cond, then, other, dtype):
                sides = self.value(then, at), self.value(other, at)
                return self.number(("choice", _at(cond, at), *sides, dtype))
            case Load():
                return self.load(value, at)
            case unknown:
                assert_never(unknown)

    def load(self, x: Load, at: Indices) -> int:
        """The number of an element that is read: that of its equation, where it has one."""
        inner, picks, before = dict(at), list[Hashable](), self.picked
        for pick in x.picks:
            found = self.value(pick.at, at)
            self.picked += 1
            inner[pick.axis.index] = expr(_place(-self.picked))
            picks.append((pick.axis.size.at(inner), pick.axis.pad, found))
        self.picked = before
        dims = tuple(e.at(inner) for e in x.dims)
        axes = tuple(e.at(inner) for e in x.axes)
        element = Load(x.tensor, dims, axes, x.dtype)
        if not picks and self.is_plain(element):
            return self.element(element)
        of = self.statement(x.tensor)
        return self.number(("load", of, dims, axes, x.dtype, tuple(picks)))

    def element(self, x: Load) -> int:
        """The number of an element of a map at the point of its reader."""
        if x not in self.read:
            s = self.statements[x.tensor]
            at = dict(zip((a.index for a in s.axes), x.axes, strict=True))
            own = self.height(s.name)
            self.open.add(s.name)
            self.depth += own
            self.read[x] = self.value(s.clauses[0][1], at)
            self.depth -= own
            self.open.discard(s.name)
        return self.read[x]

    def height(self, name: str) -> int:
        """How many operators of an equation stand one within the other."""
        if name not in self.heights:
            values = [value for _, value in self.statements[name].clauses]
            self.heights[name] = max(map(_height, values), default=0)
        return self.heights[name]

    def is_plain(self, x: Load) -> bool:
        """Whether an element counts as its equation."""
        s = self.statements[x.tensor]
        is_map = s.kind == "map" and len(s.clauses) == 1 and s.clauses[0][0] == ALWAYS
        is_here = x.dims == tuple(map(expr, s.dims))
        if not (is_map and is_here) or s.name in self.open or len(self.open) >= DEEPEST:
            return False
        return self.depth + self.height(s.name) <= MOST_OPERATORS


def _height(value: Value) -> int:
    return 1 + max(map(_height, children(value)), default=0)


def _at(cond: Cond, at: Indices) -> Cond:
    return cond.at(at)
