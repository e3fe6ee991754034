"""What integers say of positions, decided once, before rules run.

A vector of integers that is computed from counts and indices is a function of the point and of its
own position. Over a range that gains one step at every point it may rise by the same with every
*lag*, the points since a step came: those vectors are what the weights of sums are made of, however
their indices are spelled. Nothing is said of integers that could leave their type on the way.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from math import inf

from ostinato.pdg.build import ONE, const
from ostinato.pdg.condition import ALWAYS, Cond, at_least
from ostinato.pdg.constant import uniform
from ostinato.pdg.element import element
from ostinato.pdg.functions import FLOATS
from ostinato.pdg.index import Dim, Expr, Slice, expr, maximum
from ostinato.pdg.index_functions import applied
from ostinato.pdg.intervals import interval
from ostinato.pdg.node import (
    Affine,
    Along,
    Broadcast,
    Const,
    Dtype,
    Iota,
    Map,
    Node,
    Part,
    Read,
    Reshape,
    Transpose,
)
from ostinato.pdg.truth import INT32
from ostinato.rewrite.load.tables import Loaded
from ostinato.rewrite.relations import saying
from ostinato.rewrite.relations.meanings import AsMany, Steps


@dataclass(frozen=True, slots=True)
class Row:
    """A vector of integers: the one axis that is not of size 1, and its element at ``place``."""

    node: Node
    axis: int
    place: Dim
    element: Node

    @property
    def is_first(self) -> bool:
        """Whether no axis is in front of it."""
        return self.axis == -self.node.rank


@dataclass
class Counted:
    """Which nodes are computed from counts, indices and numbers alone."""

    _known: dict[Node, bool] = field(default_factory=dict[Node, bool])

    def rows(self, nodes: Sequence[Node]) -> Iterator[Row]:
        """Of nodes, operands first, the vectors among those."""
        for node in nodes:
            if not self.has(node):
                continue
            long = [k - node.rank for k, size in enumerate(node.shape) if size != ONE]
            if len(long) == 1:
                size = node.shape[long[0]]
                place = Dim("position", size=size)
                found = element(node, long[0], expr(place))
                for _ in range(found.rank):
                    found = element(found, -1, expr(0))
                yield Row(node, long[0], place, found)

    def has(self, node: Node) -> bool:
        """Whether a node is one of them."""
        if node not in self._known:
            match node.op:
                case Affine() | Iota():
                    found = True
                case Const(values):
                    found = uniform(values)
                case Map() | Read() | Reshape() | Transpose() | Broadcast() | Part():
                    found = all(map(self.has, node.args))
                case _:
                    found = False
            self._known[node] = found
        return self._known[node]


def number(of: Node) -> Expr | None:
    """The index expression that an integer is, if none of the numbers on the way wraps around."""
    found = _number(of)
    return found if found is not None and interval(found).within(INT32) else None


def _number(of: Node) -> Expr | None:
    match of.op:
        case _ if of.dtype != "int32":
            return None
        case Affine(value):
            return value
        case Const(values):
            return expr(int(values[0]))
        case Read(at):
            inner, points = number(of.args[0]), {d: e for d, e in at if isinstance(e, Expr)}
            return None if inner is None else inner.at(points)
        case Map("abs"):
            inner = number(of.args[0])
            return None if inner is None else maximum(inner, -inner)
        case Map(fn) if fn in _FUNCTIONS:
            args = [known for a in of.args if (known := number(a)) is not None]
            if len(args) < len(of.args) or not _FUNCTIONS[fn](args):
                return None
            return applied(fn, args)
        case Reshape() | Broadcast():
            return number(of.args[0])
        case Part(-1, Expr() as at):
            return _entry(of.args[0], at)
        case _:
            return None


def _entry(of: Node, at: Expr) -> Expr | None:
    """An element of a vector that is a part of another one."""
    match of.op:
        case Part(-1, Slice(lo, _, step)) if of.rank == 1:
            return _entry(of.args[0], lo + at * step)
        case _:
            found = element(of, -1, at)
            return None if isinstance(found.op, Part) else number(found)


def _always(args: list[Expr]) -> bool:
    return True


def _by_number(args: list[Expr]) -> bool:
    return args[1].is_const and args[1].const > 0


def _with_number(args: list[Expr]) -> bool:
    return any(a.is_const for a in args)


# What an index expression has, and for which operands.
_FUNCTIONS: dict[str, Callable[[list[Expr]], bool]] = {
    **dict.fromkeys(("cast", "neg", "add", "sub", "minimum", "maximum"), _always),
    **dict.fromkeys(("floordiv", "mod"), _by_number),
    "mul": _with_number,
}


@dataclass(frozen=True, slots=True)
class Range:
    """A range that one step of a dimension enters at every point, and none leaves."""

    dim: Dim
    part: Slice
    is_past: bool

    @property
    def enters(self) -> Expr:
        """The step that enters it."""
        return self.part.hi - 1 if self.is_past else self.part.lo

    def has_elements(self, before: bool = False) -> Cond:
        """Where it is not empty, or was not at the step before."""
        step = expr(self.dim) + (0 if not before else -1 if self.is_past else 1)
        lo, hi = (e.at({self.dim: step}) for e in (self.part.lo, self.part.hi))
        return at_least(hi - 1, lo)

    def place(self, lag: Dim, is_whole: bool) -> Expr:
        """The place in it of what came some points ago, or the place in the whole dimension."""
        if self.is_past:
            return self.part.hi - (0 if is_whole else self.part.lo) - 1 - lag
        return expr(lag) + (self.part.lo if is_whole else 0)


def entered(loaded: Loaded) -> list[Range]:
    """The ranges of a program that one step enters at every point."""
    named = [steps for steps in saying(Steps).values() if steps.gains]
    out: list[Range] = []
    for part in [a for a in loaded.tables.attributes if isinstance(a, Slice) and a.step == 1]:
        for dim in loaded.tables.dims:
            ends = [s.ends(expr(0), expr(dim), expr(dim.extent)) for s in named]
            if (part.lo, part.hi) in ends:
                out.append(Range(dim, part, part.lo == expr(0)))
    return out


def add_lags(loaded: Loaded, add_node: Callable[[Node], None]) -> None:
    """Rows for vectors of integers that rise evenly with the lag in such ranges."""
    ranges, tables = entered(loaded), loaded.tables
    rows = Counted().rows(list(loaded.ids)) if ranges else ()
    found = [x for row in rows if row.is_first for x in _lags(row, ranges)]
    chained = any(isinstance(n.op, Along) and n.op.fn == "prod" for n in loaded.ids)
    if not found and not (ranges and chained):
        return
    for relation, row, part, rise, start in found:
        numbers = [const(k, "int32", (ONE,) * (row.node.rank - 1)) for k in (rise, start)]
        for constant in numbers:
            if constant not in loaded.ids:
                add_node(constant)
        node, *ends = (loaded.ids[n] for n in (row.node, *numbers))
        cells = node, tables.bit(part.dim), tables.id(part.part), *ends
        loaded.row(f"raw_{relation}", *cells)
    _add_ranges(loaded, ranges)
    _add_numbers(loaded, add_node)


def _add_ranges(loaded: Loaded, ranges: Sequence[Range]) -> None:
    """What enters ranges, and where those are empty that do not hold the point."""
    tables = loaded.tables
    for name, claim in saying(AsMany).items():
        for dim, pair in itertools.product(tables.dims, claim.ranges):
            ends = (each.ends(expr(0), expr(dim), expr(dim.extent)) for each in pair)
            parts = [Slice(*each) for each in ends]
            if all(part in tables.attributes for part in parts):
                loaded.row(name, tables.bit(dim), *map(tables.id, parts))
    for part in ranges:
        bit, number = tables.bit(part.dim), tables.id(part.part)
        loaded.row("enters", bit, number, tables.id(part.enters), int(not part.is_past))
        own = part.enters == expr(part.dim)
        conds = (ALWAYS if own else part.has_elements(before) for before in (False, True))
        loaded.row("some_where", number, *map(tables.id, conds))


def _add_numbers(loaded: Loaded, add_node: Callable[[Node], None]) -> None:
    """Which numbers are above 0, and the number 0 of every float type."""
    for node in list(loaded.ids):
        if isinstance(node.op, Const) and all(0 < value < inf for value in node.op.values):
            loaded.row("raw_positive", loaded.ids[node])
            if all(0.01 <= value <= 100 for value in node.op.values):
                loaded.row("raw_gentle", loaded.ids[node])
    dtypes: dict[Dtype, None] = {n.dtype: None for n in loaded.ids if n.dtype in FLOATS}
    for dtype in dtypes:
        if (zero := const(0, dtype)) not in loaded.ids:
            add_node(zero)
        loaded.row("raw_zero", dtype, loaded.ids[zero])


def _lags(row: Row, ranges: Sequence[Range]) -> Iterator[tuple[str, Row, Range, int, int]]:
    """The ranges in which a vector rises evenly: by how much, and from where."""
    value = number(row.element)
    if value is None:
        return
    lag = Dim("lag")
    for part in ranges:
        size = row.node.shape[row.axis]
        whole = size == expr(part.dim.extent)
        if not whole and size != part.part.size:
            continue
        by_lag = value.at({row.place: part.place(lag, whole)})
        rise = dict(by_lag.terms).get(lag, 0)
        start = by_lag - expr(lag) * rise
        if start.is_const and rise:
            yield ("lagged_in" if whole else "lagged"), row, part, rise, start.const
