"""Ranges that follow the point, as rows: how a fold over one is made of folds over simpler ones.

A range from the start to any index is read off the running fold, and so is one to the end. Windows
of constant length that end at the point (*past*), or begin there (*coming*), are joined from two of
about half the length; windows beside the point are such windows at other points.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from ostinato.pdg.bounds import is_never_negative
from ostinato.pdg.build import const
from ostinato.pdg.condition import Cond, at_least
from ostinato.pdg.functions import FLOATS, POSITIONS, REPEATED, fold_unit
from ostinato.pdg.index import Dim, Expr, Extremum, Slice, dims_of, expr, maximum, minimum
from ostinato.pdg.node import Dtype, Node, Reduce
from ostinato.rewrite.engine.egglog_session import Row
from ostinato.rewrite.load.tables import Tables
from ostinato.rewrite.relations import RELATIONS, saying
from ostinato.rewrite.relations.meanings import Beside, Repeats, Run, Steps

_NAMED = {name: steps for name, steps in saying(Steps).items() if RELATIONS[name].value is None}
_MAY_BE_EMPTY = [name for name, run in saying(Run).items() if not run.certain]


def range_rows(tables: Tables, count: int) -> dict[str, list[Row]]:
    """Rows about the slices among the first attributes; adds the windows and indices they need."""
    found = _Ranges(tables)
    for number, attribute in list(enumerate(tables.attributes[:count])):
        if isinstance(attribute, Slice) and attribute.step == 1:
            found.of(number, attribute)
    return {
        **{name: list(claim.pairs.items()) for name, claim in saying(Repeats).items()},
        **found.rows,
    }


def constants_of_ranges(
    nodes: Collection[Node], rows: Mapping[str, Sequence[Row]]
) -> Iterator[tuple[str, tuple[str, ...], Node]]:
    """Rows about what folds of nothing give, and zeros, where the rows of ranges ask for them."""
    reductions: dict[tuple[str, Dtype], None] = {
        (n.op.fn, n.dtype): None for n in nodes if isinstance(n.op, Reduce)
    }
    beside = list(saying(Beside))
    if any(rows.get(relation) for relation in (*_MAY_BE_EMPTY, "moved")):
        for fn, dtype in reductions:
            if fn in REPEATED:
                yield "raw_empty", (fn, dtype), const(fold_unit(fn, dtype), dtype)
    if any(rows.get(relation) for relation in (*beside, "overlapping")):
        for dtype in FLOATS:
            if ("max", dtype) in reductions:
                yield "raw_zero", (dtype,), const(0, dtype)
    if any(rows.get(relation) for relation in beside):
        if any(fn in POSITIONS for fn, _ in reductions):
            yield "raw_zero", ("int32",), const(0, "int32")


@dataclass
class _Ranges:
    tables: Tables
    rows: dict[str, list[Row]] = field(default_factory=dict[str, list[Row]])
    _windows: set[tuple[Dim, int, bool]] = field(default_factory=set[tuple[Dim, int, bool]])

    def _row(self, relation: str, dim: Dim, *cells: int | Slice | Cond | Expr) -> None:
        ids = (c if isinstance(c, int) else self.tables.id(c) for c in cells)
        self.rows.setdefault(relation, []).append((self.tables.bit(dim), *ids))

    def of(self, number: int, part: Slice) -> None:
        """Rows of one slice, over every dimension that it may range over."""
        for dim in self.tables.dims:
            here, end = expr(dim), expr(dim.extent)
            ends = part.lo, part.hi
            named = [n for n, steps in _NAMED.items() if steps.ends(expr(0), here, end) == ends]
            for name in named:
                self._row(name, dim, number)
            if ends == (expr(0), here + 1):
                self._row("before", dim, here - 1, at_least(here, 1))
            elif ends == (here, end):
                self._row("after", dim, here + 1, at_least(end - 1, here + 1))
            elif named and part.lo != here + 1:
                continue
            elif part.lo == expr(0) and dims_of(part.hi):
                certain = is_never_negative(part.hi - 1)
                conds = () if certain else (at_least(part.hi, 1),)
                self._row("always_until" if certain else "until", dim, number, part.hi - 1, *conds)
            elif part.hi == end and dims_of(part.lo):
                certain = is_never_negative(end - 1 - part.lo)
                conds = () if certain else (at_least(end - 1, part.lo),)
                self._row("always_from" if certain else "from", dim, number, part.lo, *conds)
            elif (found := next(_window_of(part, dim), None)) is not None:
                self._window(dim, number, *found)

    def _window(self, dim: Dim, number: int, first: int, behind: int) -> None:
        """A window of the points ``d + first`` to ``d + behind - 1``."""
        here, last = expr(dim), expr(dim.extent) - 1
        steps = behind - first
        if behind == 1:
            self._halved(dim, steps, past=True)
        elif first == 0:
            self._halved(dim, steps, past=False)
        elif behind < 1:
            to = here + (behind - 1)
            self._row("moved", dim, number, self._halved(dim, steps, True), to, at_least(to, 0))
        elif first > 0:
            to = here + first
            self._row("moved", dim, number, self._halved(dim, steps, False), to, at_least(last, to))

    def _halved(self, dim: Dim, steps: int, past: bool) -> Slice:
        """The window of some steps, with the rows that make it of shorter ones."""
        here, last = expr(dim), expr(dim.extent) - 1

        def window(n: int) -> Slice:
            if past:
                return Slice(maximum(here - (n - 1), 0), here + 1)
            return Slice(here, minimum(here + n, dim.extent))

        def other(n: int) -> tuple[Expr, Cond]:
            to = here - n if past else here + n
            return to, at_least(to, 0) if past else at_least(last, to)

        if steps > 3 and (dim, steps, past) not in self._windows:
            self._windows.add((dim, steps, past))
            if not past:
                self._row("begins", dim, window(steps))
            half, most = steps // 2, (steps + 1) // 2
            one, wide = (self._halved(dim, n, past) for n in (half, most))
            self._row("overlapping", dim, window(steps), wide, *other(half))
            if half == most:
                self._row("doubled", dim, window(steps), one, *other(half))
            else:
                more = other(steps - 1)
                self._row("lengthened", dim, window(steps), one, *other(half), *more)
        return window(steps)


def _window_of(part: Slice, dim: Dim) -> Iterator[tuple[int, int]]:
    """The distances of the first point, and of the one behind the last, of a clipped window."""
    here, end = expr(dim), expr(dim.extent)
    for first in _distances(part.lo, dim):
        for behind in _distances(part.hi, dim):
            start, stop = here + first, here + behind
            lows = (start, minimum(start, end)) if first >= 0 else (maximum(start, 0),)
            highs = (stop, maximum(stop, 0)) if behind <= 1 else (minimum(stop, end),)
            if part.lo in lows and part.hi in highs and behind - first > 1:
                yield first, behind


def _distances(edge: Expr, dim: Dim) -> list[int]:
    """The constants ``k`` of which an edge may be ``d + k``, clipped."""
    forms = [edge]
    for atom, _ in edge.terms:
        if isinstance(atom, Extremum):
            forms += [form + edge.const for form in atom.of]
    gaps = [form - expr(dim) for form in forms]
    return sorted({gap.const for gap in gaps if gap.is_const})
