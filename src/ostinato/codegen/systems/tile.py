"""Strip-mining: a dim that rewriting made a lane becomes a loop over tiles and an axis inside.

A tiled dim ``d`` of width ``w`` is ``w * d_o + d_i``. A statement meets it in one of three forms:

- "lane": loop over tiles ``d_o``, axis ``d_i`` (the statements that rewriting vectorised);
- "split": loops over ``d_o`` and ``d_i`` (point by point, but able to share the loop over tiles);
- "whole": one loop over ``d`` (recurrences along ``d``, statements tiled along another dim).

Every tile keeps its own partial sums. Where these are large beside the work of a tile, tiles share
them: ``d`` is ``w * (g * d_o + d_g) + d_i`` for ``g`` groups. Groups run in parallel; each adds up
its tiles one after the other.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import isqrt
from typing import Literal, NamedTuple

from ostinato.codegen.ir.partial_sums import GROUPED, ROW, TILES, groups_of
from ostinato.codegen.ir.scc import components
from ostinato.codegen.ir.system import Axis, Load, Statement, System, loads
from ostinato.codegen.ir.tree import Span
from ostinato.codegen.ir.values import Rewrite
from ostinato.codegen.systems.prepare import needed
from ostinato.codegen.target import Target
from ostinato.machine.profile import TYPICAL_EXTENT
from ostinato.pdg.index import Dim, Expr, Extent, evaluate, expr, floordiv, minimum, mod, symbols

Form = Literal["lane", "split", "whole"]


@dataclass(frozen=True)
class Tile:
    """A tiled dim and the indices that replace it; ``group`` if tiles share partial sums."""

    dim: Dim
    width: int
    outer: Dim
    inner: Dim
    group: Dim | None = None
    groups: int = 1

    @property
    def count(self) -> Expr:
        return floordiv(expr(self.dim.extent) + (self.width - 1), self.width)

    @property
    def number(self) -> Expr:
        """Which tile it is."""
        return (
            expr(self.outer) if self.group is None else expr(self.outer) * self.groups + self.group
        )

    @property
    def size(self) -> Expr:
        """The rows of a tile; the last one may have fewer."""
        if self.width == 1:
            return expr(1)
        return minimum(self.width, expr(self.dim.extent) - self.number * self.width)

    @property
    def point(self) -> Expr:
        return self.number * self.width + self.inner

    @property
    def indices(self) -> tuple[Dim, ...]:
        """What replaces the dim: loops, then the place in a tile."""
        loops = (self.outer,) if self.group is None else (self.group, self.outer)
        return (*loops, self.inner)

    @property
    def pieces(self) -> tuple[Dim, ...]:
        """The same, the most significant first."""
        groups = () if self.group is None else (self.group,)
        return (self.outer, *groups, self.inner)

    @property
    def parallel(self) -> Dim:
        return self.outer if self.group is None else self.group

    @property
    def spans(self) -> tuple[Span, ...]:
        """The loops: no more groups than tiles, each with as many tiles as others, or one fewer."""
        last = Span(self.inner, expr(0), self.size)
        if self.group is None:
            return Span(self.outer, expr(0), self.count), last
        number = self.groups
        most = floordiv(self.count + (number - 1), number)
        mine = floordiv(self.count - self.group + (number - 1), number)
        groups = Span(self.group, expr(0), minimum(number, self.count))
        return groups, Span(self.outer, expr(0), minimum(most, mine)), last

    def split(self, e: Expr) -> tuple[Expr, ...]:
        """The indices of position ``e``."""
        if e == self.point:
            return tuple(map(expr, self.indices))
        tile, place = floordiv(e, self.width), mod(e, self.width)
        if self.group is None:
            return tile, place
        return mod(tile, self.groups), floordiv(tile, self.groups), place


@dataclass(frozen=True)
class Tiled:
    """Statements over tiles, the loop spans of all dims (in order), and the parallel ones.

    ``pieces`` gives what replaces a tiled dim, the most significant index first.
    """

    statements: dict[str, Statement]
    spans: dict[Dim, Span]
    tiles: frozenset[Dim]
    pieces: dict[Dim, tuple[Dim, ...]]


def tile(system: System, widths: Mapping[str, int], workers: int, target: Target) -> Tiled:
    """Split every dim that some statement has as a lane; loads follow their tensors."""
    statements = needed(system.statements, system.outputs.values())
    carried = carried_dims(statements)
    serial = serial_dims(statements, carried)
    lanes = {name: _lanes(s, carried[name] | serial) for name, s in statements.items()}
    chosen = _chosen(lanes, system.hints, _nearest(system), target)
    tiles: dict[Dim, Tile] = {}
    for d in _dims(chosen):
        own = [s for name, s in statements.items() if chosen[name] == d]
        has_steps = _has_steps(d, own, carried)
        width = widths.get(d.name, 0)
        width = width or _width(d, own, system.hints, workers, has_steps, target)
        tiles[d] = _tile(d, own, width, groups_of(_typical(d, system.hints)))
    forms: dict[str, dict[Dim, Form]] = {
        name: {d: _form(s, d, chosen[name], carried[name]) for d in tiles if d in s.dims}
        for name, s in statements.items()
    }
    return Tiled(
        {name: _rewritten(s, forms, statements, tiles) for name, s in statements.items()},
        _spans(statements, tiles),
        frozenset(t.parallel for t in tiles.values()),
        {d: t.pieces for d, t in tiles.items()},
    )


def _dims(chosen: Mapping[str, Dim | None]) -> list[Dim]:
    return sorted({d for d in chosen.values() if d}, key=lambda d: d.serial)


def carried_dims(statements: Mapping[str, Statement]) -> dict[str, frozenset[Dim]]:
    """For every statement the dims along which its component reads other points.

    What an outer loop carries binds no dim inside it: all rows of the step before may be read.
    """
    return {
        name: frozenset(dims)
        for group, inner in _components(frozenset(statements), _reads(statements))
        for dims in [_carriers(group, inner)]
        for name in group
    }


class Read(NamedTuple):
    """A read between two statements: along which dims, and how far back where that is fixed."""

    reader: str
    tensor: str
    back: Mapping[Dim, int | None]


def _reads(statements: Mapping[str, Statement]) -> list[Read]:
    return [
        Read(name, load.tensor, _back(load, statements[load.tensor], s))
        for name, s in statements.items()
        for _, value in s.clauses
        for load in loads(value)
    ]


def _back(load: Load, producer: Statement, reader: Statement) -> dict[Dim, int | None]:
    out: dict[Dim, int | None] = {}
    for d, e in zip(producer.result_dims, load.dims, strict=True):
        here = e.as_dim() == d  # nearly always
        gap = expr(0) if here else expr(d) - e
        out[d] = gap.const if gap.is_const and d in reader.dims else None
    return out


def _components(
    names: frozenset[str], reads: Sequence[Read]
) -> Iterator[tuple[list[str], list[Read]]]:
    """Statements that need each other, with the reads between them."""
    succ: dict[str, list[str]] = {name: [] for name in sorted(names)}
    for r in reads:
        succ[r.tensor].append(r.reader)
    groups = components(list(succ), succ)
    of = {name: k for k, group in enumerate(groups) for name in group}
    inside: list[list[Read]] = [[] for _ in groups]
    for r in reads:
        if of[r.reader] == of[r.tensor]:
            inside[of[r.reader]].append(r)
    yield from zip(groups, inside, strict=True)


def _carriers(group: Sequence[str], reads: Sequence[Read]) -> set[Dim]:
    """The dims of the loops that carry a component, from the outermost one inwards."""
    moved = {d: None for r in reads for d, back in r.back.items() if back != 0}
    for dim in moved:
        backs = [back for r in reads if (back := r.back.get(dim)) is not None]
        for sign in (1, -1) if len(backs) == len(reads) else ():
            gaps = [back * sign for back in backs]
            if min(gaps) < 0 or not any(gaps):
                continue
            rest = [r for r, gap in zip(reads, gaps, strict=True) if not gap]
            inner = (_carriers(*part) for part in _components(frozenset(group), rest))
            return {dim}.union(*inner)
    return set(moved)


def serial_dims(
    statements: Mapping[str, Statement], carried: Mapping[str, frozenset[Dim]]
) -> frozenset[Dim]:
    """The dims whose every step waits for a fold over rows, such as training iterations.

    Nested loops, such as minibatches in epochs, count with a fold of any kind. Such loops are the
    outermost ones: what is computed inside them needs no history of the run, and its results can be
    read while it runs. So nothing is tiled along them.
    """
    out: set[Dim] = set()
    for name, s in statements.items():
        if s.reduced & (s.lanes - carried[name]) or (s.reduced and len(carried[name]) > 1):
            out |= carried[name]
    return frozenset(out)


def _lanes(statement: Statement, carried: frozenset[Dim]) -> frozenset[Dim]:
    """The lanes that may become tiles: an arg fold keeps its position along a whole axis."""
    if statement.kind in ("input", "host"):
        return frozenset()
    taken = statement.reduced if statement.fold.startswith("arg") else frozenset[Dim]()
    return statement.lanes - carried - taken


def _nearest(system: System) -> Counter[Dim]:
    """The dims along which arguments and results lie point by point, and how many do."""
    ends = {*system.inputs.values(), *system.outputs.values()}
    dims = (system.statements[name].result_dims for name in ends)
    return Counter(found[-1] for found in dims if found)


def _chosen(
    lanes: Mapping[str, frozenset[Dim]],
    hints: Mapping[str, int],
    near: Counter[Dim],
    target: Target,
) -> dict[str, Dim | None]:
    """One lane per statement: the dim that serves most statements, unless known to be short.

    Of dims that serve equally many it is the one whose rows lie side by side in memory.
    """

    def is_short(dim: Dim) -> bool:
        hinted = _hinted(dim, hints)
        return hinted is not None and hinted < target.tiles.narrowest

    chosen: dict[str, Dim | None] = dict.fromkeys(lanes)
    left = {name for name, found in lanes.items() if found}
    while left:
        votes = Counter(d for name in left for d in lanes[name])
        best = min(votes, key=lambda d: (is_short(d), -votes[d], -near[d], d.serial))
        for name in [n for n in left if best in lanes[n]]:
            chosen[name] = best
            left.discard(name)
    return chosen


def _hinted(dim: Dim, hints: Mapping[str, int]) -> int | None:
    """The typical extent of a dim, as far as hints tell it."""
    if isinstance(dim.extent, Extent):
        return hints.get(dim.extent.name)
    values: dict[Dim | Extent, int] = {Extent(name): size for name, size in hints.items()}
    return evaluate(dim.extent, values) if symbols(dim.extent) <= values.keys() else None


def _typical(dim: Dim, hints: Mapping[str, int]) -> int:
    """What the extent of a dim usually is; 0 where that follows from another dim."""
    usual = {x.name: TYPICAL_EXTENT for x in symbols(dim.extent) if isinstance(x, Extent)}
    return _hinted(dim, {**usual, **hints}) or 0


def _tile(dim: Dim, own: Sequence[Statement], width: int, groups: int) -> Tile:
    """The tiles of a dim along which ``own`` statements run, in groups where sums are large."""
    alone = all(s.reduced <= {dim} | {a.index for a in s.axes} for s in own if dim in s.reduced)
    group = Dim(f"{dim.name}_g") if alone and _sums(dim, own) >= GROUPED else None
    return Tile(dim, width, Dim(f"{dim.name}_o"), Dim(f"{dim.name}_i"), group, groups)


def _sums(dim: Dim, own: Sequence[Statement]) -> int:
    """The numbers in the partial sums of a tile."""
    return sum(_row(s, s.reduced) for s in own if dim in s.reduced)


def _has_steps(dim: Dim, own: Sequence[Statement], carried: Mapping[str, frozenset[Dim]]) -> bool:
    """Whether a tile runs a loop that adds to the same sums at every step, such as time."""
    outside = {d for s in own if dim in s.reduced for d in s.result_dims}
    return any((carried[s.name] & {*s.dims}) - outside for s in own)


def _width(
    dim: Dim,
    own: Sequence[Statement],
    hints: Mapping[str, int],
    workers: int,
    has_steps: bool,
    target: Target,
) -> int:
    """The rows per tile; one that ``has_steps``, a loop of its own, keeps all of them near."""
    tiles = target.tiles
    is_narrow = max(map(_row, own), default=1) <= target.lanes
    beside = tiles.rows_beside(max((_row(s) for s in own if s.kind == "matmul"), default=0))
    enough = _typical(dim, hints) >= tiles.adding * TILES
    if enough and not has_steps and _sums(dim, own) >= GROUPED:
        beside = max(beside, tiles.adding)
    widest, steps = max(tiles.narrow if is_narrow else tiles.usual, beside), _hinted(dim, hints)
    if not symbols(dim.extent):
        workers = TILES  # without a hint no result depends on the number of threads
    if steps is None:
        return max(tiles.usual, beside)
    lines = sum(_row(s) for s in own if dim not in s.reduced)
    widest = max(widest, balanced_width(steps, lines, _sums(dim, own), workers, target))
    return default_width(steps, workers, widest, tiles.narrowest)


def _row(s: Statement, without: frozenset[Dim] = frozenset()) -> int:
    """The numbers that a row of a statement holds; a run-time size counts as many."""
    count = 1
    for axis in s.axes:
        if axis.index not in without:
            count *= axis.pad.const if axis.pad.is_const else ROW + 1
    return count


def balanced_width(steps: int, line: int, sums: int, workers: int, target: Target) -> int:
    """The rows per tile with which partial sums and tiles of every worker take least memory.

    A row has ``line`` numbers, the partial sums of a tile have ``sums``. Where sums of the usual
    tiles fit into the caches, or tiles would not, nothing is to be won: the answer is small.
    """
    usual, line = target.tiles.usual, max(1, line)
    if sums * steps < target.far_bytes // 4 * usual:
        return usual
    return max(usual, min(isqrt(sums * steps // (workers * line)), target.near_bytes // 4 // line))


def default_width(steps: int, workers: int, widest: int, narrowest: int) -> int:
    """The rows per tile for a dim of about ``steps``: workers should have equally many tiles.

    >>> [default_width(steps, 2, 32, 8) for steps in (1, 40, 64, 96, 4096)]
    [1, 24, 32, 24, 32]
    """
    if steps < narrowest:
        return steps
    rounds = -(-steps // (workers * widest))
    share = -(-steps // (workers * rounds))
    return min(widest, -(-share // narrowest) * narrowest)


def _form(statement: Statement, dim: Dim, lane: Dim | None, carried: frozenset[Dim]) -> Form:
    if lane == dim:
        return "lane"
    if statement.kind in ("input", "host") or lane is not None or dim in carried:
        return "whole"
    return "whole" if statement.fold.startswith("arg") and dim in statement.reduced else "split"


def _spans(statements: Mapping[str, Statement], tiles: Mapping[Dim, Tile]) -> dict[Dim, Span]:
    """Every loop dim in declaration order, tiles in the place of the dim they split."""
    dims = sorted({d for s in statements.values() for d in s.dims}, key=lambda d: d.serial)
    out: dict[Dim, Span] = {}
    for d in dims:
        t = tiles.get(d)
        if t is not None:
            out |= {span.dim: span for span in t.spans}
        out[d] = Span(d, expr(0), expr(d.extent))
    return out


def _rewritten(
    statement: Statement,
    forms: Mapping[str, Mapping[Dim, Form]],
    statements: Mapping[str, Statement],
    tiles: Mapping[Dim, Tile],
) -> Statement:
    own = forms[statement.name]
    split = {d: tiles[d] for d, form in own.items() if form != "whole"}

    def at_tile(load: Load) -> Load:
        return _load(load, statements[load.tensor], forms[load.tensor], tiles)

    rewrite = Rewrite({d: t.point for d, t in split.items()}, at_tile)
    dims: list[Dim] = []
    axes: list[Axis] = []
    for d in statement.dims:
        if d not in split:
            dims.append(d)
            continue
        *loops, place = split[d].indices
        dims += loops
        if own[d] == "split":
            dims.append(place)
        else:
            axes.append(Axis(split[d].inner, split[d].size, expr(split[d].width)))
    reduced = {x for d in statement.reduced for x in _indices(d, split)}
    axes += [Axis(a.index, rewrite.expr(a.size), a.pad) for a in statement.axes]
    tiled = replace(
        statement,
        dims=tuple(dims),
        axes=tuple(axes),
        lanes=frozenset(t.inner for d, t in split.items() if own[d] == "lane"),
        reduced=frozenset(reduced),
        later=frozenset(x for d in statement.later for x in _loops(d, split)),
    )
    return rewrite.clauses(tiled)


def _indices(index: Dim, split: Mapping[Dim, Tile]) -> tuple[Dim, ...]:
    return split[index].indices if index in split else (index,)


def _loops(index: Dim, split: Mapping[Dim, Tile]) -> tuple[Dim, ...]:
    return split[index].indices[:-1] if index in split else (index,)


def _load(
    load: Load, producer: Statement, forms: Mapping[Dim, Form], tiles: Mapping[Dim, Tile]
) -> Load:
    """A load at the producer's tiles: the place in a tile is an axis or a dim of it."""
    dims: list[Expr] = []
    axes: list[Expr] = []
    for d, e in zip(producer.result_dims, load.dims, strict=True):
        form = forms.get(d, "whole")
        if form == "whole":
            dims.append(e)
            continue
        *loops, place = tiles[d].split(e)
        dims += loops
        (axes if form == "lane" else dims).append(place)
    return replace(load, dims=tuple(dims), axes=(*axes, *load.axes))
