"""Ranges that follow the point, as rows: how a fold over one is made of folds over simpler ones.

A range from the start to any index is that of all steps so far at the index, and so is one to the
end. Windows of constant length that end at the point (*past*), or begin there (*coming*), are
joined from two of about half the length; windows beside it are such windows at other points.

Laws of variances need the counts of ranges that no equation names: those that begin where others
begin, and the parts of windows. Ranges over which a softmax is taken, and that may be long, get
tiles: new dimensions, one step of each for a tile. A short row fits anywhere.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from ostinato.pdg.bounds import is_never_negative
from ostinato.pdg.build import affine, const, iota
from ostinato.pdg.condition import ALWAYS, Cond, at_least
from ostinato.pdg.functions import FLOATS, POSITIONS, REPEATED, fold_unit
from ostinato.pdg.index import Dim, Expr, Extremum, Slice, expr, floordiv, maximum, minimum
from ostinato.pdg.limits import MOST_DIMS
from ostinato.pdg.node import Dtype, Iota, Map, Node, Pdg, Read, Reduce, postorder
from ostinato.pdg.upper_bound import upper_bound
from ostinato.rewrite.engine.egglog_session import Row
from ostinato.rewrite.load.tables import Tables
from ostinato.rewrite.relations import RELATIONS, saying
from ostinato.rewrite.relations.meanings import Beside, Listed, Repeats, Steps

_NAMED = {name: steps for name, steps in saying(Steps).items() if RELATIONS[name].value is None}


def range_rows(tables: Tables, count: int) -> dict[str, list[Row]]:
    """Rows about the slices among the first attributes; adds the windows and indices they need."""
    found = _Ranges(tables)
    for number, attribute in list(enumerate(tables.attributes[:count])):
        if isinstance(attribute, Slice) and attribute.step == 1:
            found.of(number, attribute)
    return {
        **{name: list(claim.pairs.items()) for name, claim in saying(Repeats).items()},
        **{name: list(claim.rows) for name, claim in saying(Listed).items()},
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
    if rows.get("moved"):
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
    _known: set[int] = field(default_factory=set[int])

    def _row(self, relation: str, dim: Dim, *cells: int | Slice | Cond | Expr) -> None:
        ids = (c if isinstance(c, int) else self.tables.id(c) for c in cells)
        self.rows.setdefault(relation, []).append((self.tables.bit(dim), *ids))

    def of(self, number: int, part: Slice) -> None:
        """Rows of one slice, over every dimension that it may range over."""
        if number in self._known:
            return
        self._known.add(number)
        for dim in self.tables.dims:
            here, end = expr(dim), expr(dim.extent)
            ends = part.lo, part.hi
            named = [n for n, steps in _NAMED.items() if steps.ends(expr(0), here, end) == ends]
            for name in named:
                self._row(name, dim, number)
            if ends == (expr(0), here + 1):
                self._beside("before", dim, number, here - 1, at_least(here, 1))
            elif ends == (here, end):
                self._beside("after", dim, number, here + 1, at_least(end - 1, here + 1))
            elif named and part.lo != here + 1 and part.hi != here:
                continue
            elif part.lo == expr(0) and part.hi.dims:
                self._moved(dim, number, Slice(expr(0), here + 1), part.hi - 1, part.hi - 1)
            elif part.hi == end and part.lo.dims:
                self._moved(dim, number, Slice(here, end), part.lo, end - 1 - part.lo)
            elif (found := next(_window_of(part, dim), None)) is not None:
                self._window(dim, number, *found)

    def _beside(self, side: str, dim: Dim, number: int, there: Expr, cond: Cond) -> None:
        """The step before the point, or after it, in all steps until it, or from it on."""
        self._row(side, dim, there, cond)
        self._row("nearby", dim, number, int(side == "after"), there, cond)

    def _moved(self, dim: Dim, number: int, other: Slice, there: Expr, spare: Expr) -> None:
        """A range that is another one at an index, where ``spare`` is not negative."""
        cond = ALWAYS if is_never_negative(spare) else at_least(spare, 0)
        self._row("moved", dim, number, other, there, cond)
        self.of(self.tables.id(other), other)

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
            more, unless = other(half)[0], ALWAYS
            if half < most:
                more, _ = other(steps - 1)
                unless = at_least(-1, more) if past else at_least(more, dim.extent)
            self._row("halved", dim, window(steps), one, *other(half), more, unless)
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


def name_ranges(tables: Tables, nodes: Collection[Node]) -> None:
    """Give the ranges from the start, or to the end, ids where others are read off them."""
    if not any(map(_is_spread, nodes)):
        return
    reads = (node.op.at for node in nodes if isinstance(node.op, Read))
    for dim, part in (pair for at in reads for pair in at):
        if not isinstance(part, Slice):
            continue
        if part.lo == expr(0) and part.hi.dims:
            tables.id(Slice(expr(0), expr(dim) + 1))
        if part.hi == expr(dim.extent) and part.lo.dims:
            tables.id(Slice(expr(dim), expr(dim.extent)))


def tallies(
    tables: Tables, nodes: Collection[Node]
) -> Iterator[tuple[str, tuple[int | str, ...], Node]]:
    """Rows about the lengths of ranges, where laws need them, and what counts their steps."""
    weighted = any(map(_is_weight, nodes))
    if not weighted and not any(map(_is_spread, nodes)):
        return
    dtypes: dict[Dtype, None] = {node.dtype: None for node in nodes if _is_spread(node)}
    for dtype in dtypes:
        yield "raw_zero", (dtype,), const(0, dtype)
    for number, part in enumerate(tables.attributes):
        if isinstance(part, Slice) and part.dims:
            yield "raw_tally", (number,), affine(part.size)
            if weighted and not part.lo.is_const:
                yield "raw_counter", (number,), iota(part.size)


def _is_weight(node: Node) -> bool:
    """Whether a node is a power of a count."""
    if not (isinstance(node.op, Map) and node.op.fn == "pow"):
        return False
    return any(isinstance(x.op, Iota) and not x.op.size.is_const for x in postorder(node.args[1:]))


def _is_spread(node: Node) -> bool:
    """Whether a node sums products of differences."""
    if not (isinstance(node.op, Reduce) and node.op.fn == "sum"):
        return False
    (terms,) = node.args
    if isinstance(terms.op, Map) and terms.op.fn == "where":  # of what a mask keeps
        terms = next((x for x in terms.args[1:] if isinstance(x.op, Map)), terms)
    return (
        isinstance(terms.op, Map)
        and terms.op.fn in ("mul", "pow")
        and all(
            isinstance(x.op, Map) and x.op.fn == "sub"
            for x in terms.args[: 1 + (terms.op.fn == "mul")]
        )
    )


WIDTH = 128  # steps of a tile: its scores and weights stay in the nearest cache


def tile_dims(pdg: Pdg) -> dict[Expr, Dim]:
    """A dimension over the tiles of every length of a range that a softmax is taken over.

    There are as many as a program may have besides its own.
    """
    lengths = [size for node in pdg.nodes() for size in _softmax_lengths(node)]
    ranges = {s.size for s in _ranges(pdg)}
    used = {d.name for d in pdg.dims()}
    out: dict[Expr, Dim] = {}
    for size in dict.fromkeys(lengths):
        most = upper_bound(size)
        is_short = is_never_negative(2 * WIDTH - most)
        if size not in ranges or is_short or not is_never_negative(size - 1):
            continue
        if len(used) >= MOST_DIMS:
            break
        name = next(n for k in range(len(used) + 1) if (n := f"tile{k or ''}") not in used)
        used.add(name)
        out[size] = Dim(name, size=floordiv(most + (WIDTH - 1), WIDTH))
    return out


def _softmax_lengths(node: Node) -> Iterator[Expr]:
    """The length of the rows of an exponential that is shifted by their greatest element."""
    if not (isinstance(node.op, Map) and node.op.fn == "exp"):
        return
    (shifted,) = node.args
    if not (isinstance(shifted.op, Map) and shifted.op.fn == "sub" and shifted.rank):
        return
    found = postorder(shifted.args[1:])
    if shifted.shape[-1].dims and any(_is_greatest(x) for x in found):
        yield shifted.shape[-1]


def _is_greatest(node: Node) -> bool:
    return isinstance(node.op, Reduce) and node.op.fn == "max" and node.op.axes == (-1,)


def _ranges(pdg: Pdg) -> Iterator[Slice]:
    """The ranges that follow the point, in the order in which they are read."""
    for node in pdg.nodes():
        for _, part in node.op.at if isinstance(node.op, Read) else ():
            if isinstance(part, Slice) and part.step == 1 and part.dims:
                yield part


def tile_rows(tables: Tables, pdg: Pdg, dims: Mapping[Expr, Dim]) -> dict[str, list[Row]]:
    """Rows about tiles and the ranges they are of; adds the slices and indices that they need."""
    found: dict[Expr, list[Slice]] = {size: [] for size in dims}
    for part in dict.fromkeys(_ranges(pdg)):
        found.get(part.size, []).append(part)
    out: dict[str, list[Row]] = {"tiled": [], "section": [], "piece": [], "final": []}
    for size, dim in dims.items():
        bit, (first, *_) = tables.bit(dim), found[size]
        tile = tile_of(first, dim)
        number = tables.id(tile)
        tables.id(Slice(expr(0), expr(dim) + 1))  # names the step before
        out["tiled"].append((tables.id(size), number, bit))
        out["section"].append((tables.id(size), number))
        out["final"].append((bit, tables.id(expr(dim.extent) - 1)))
        for part in found[size]:
            piece = Slice(part.lo + tile.lo, part.lo + tile.hi)
            out["piece"].append((tables.id(part), number, tables.id(piece)))
    return out


def tile_of(part: Slice, dim: Dim) -> Slice:
    """The positions in a range that a tile has; those behind the range are empty."""
    start = part.lo + expr(dim) * WIDTH
    low, high = minimum(start, part.hi), minimum(start + WIDTH, part.hi)
    return Slice(low - part.lo, high - part.lo)
