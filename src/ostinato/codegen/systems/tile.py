"""Strip-mining: a dim that rewriting made a lane becomes a loop over tiles and an axis inside.

A tiled dim ``d`` of width ``w`` is ``w * d_o + d_i``. A statement meets it in one of four forms:

- "lane": loop over tiles ``d_o``, axis ``d_i`` (the statements that rewriting vectorised);
- "split": loops over ``d_o`` and ``d_i`` (point by point, but able to share the loop over tiles);
- "whole": one loop over ``d`` (recurrences along ``d``, statements tiled along another dim);
- "axis": an axis of all of ``d`` (rows, columns or terms of a product that nothing tiles).

Every tile keeps its own partial sums. Where these are large beside the work of a tile, tiles share
them: ``d`` is ``w * (g * d_o + d_g) + d_i`` for ``g`` groups. Groups run in parallel; each adds up
its tiles one after the other.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from ostinato.codegen.ir.partial_sums import GROUPED, groups_of
from ostinato.codegen.ir.system import Axis, Load, Statement, System
from ostinato.codegen.ir.tree import Span
from ostinato.codegen.ir.values import Rewrite
from ostinato.codegen.systems.prepare import needed
from ostinato.codegen.systems.product_axes import Form, Forms, ProductAxes
from ostinato.codegen.systems.tile_choice import chosen_tiles, sums, typical
from ostinato.codegen.target import Target
from ostinato.pdg.index import Dim, Expr, expr, floordiv, minimum, mod


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

    ``pieces`` gives what replaces a tiled dim, the most significant index first. ``points`` are
    parallel dims too, without tiles, and ``short`` says for which extents others are better: see
    `TileChoice`. The loop over ``outermost`` stands around all others where it may.
    """

    statements: dict[str, Statement]
    spans: dict[Dim, Span]
    tiles: frozenset[Dim]
    pieces: dict[Dim, tuple[Dim, ...]]
    points: frozenset[Dim] = frozenset()
    short: dict[Dim, int] = field(default_factory=dict[Dim, int])
    outermost: Dim | None = None


def tile(system: System, widths: Mapping[str, int], workers: int, target: Target) -> Tiled:
    """Split every dim that some statement has as a lane; loads follow their tensors."""
    statements = needed(system.statements, system.outputs.values())
    system = replace(system, statements=statements)
    choice = chosen_tiles(system, widths, workers, target)
    lanes = choice.lanes
    tiles = {
        d: _tile(
            d, [s for n, s in statements.items() if lanes[n] == d], width, system.hints, target
        )
        for d, width in choice.widths.items()
    }
    forms: dict[str, dict[Dim, Form]] = {
        name: {d: _form(s, d, lanes[name], choice.in_turn[name]) for d in tiles if d in s.dims}
        for name, s in statements.items()
    }
    products = ProductAxes(statements, forms)
    for name, s in statements.items():
        forms[name] |= products.found(s, choice.free[name] - choice.points)
    return Tiled(
        {name: _rewritten(s, forms, statements, tiles) for name, s in statements.items()},
        _spans(statements, tiles),
        choice.points.union(t.parallel for t in tiles.values()),
        {d: t.pieces for d, t in tiles.items()},
        choice.points,
        choice.short,
    )


def _tile(
    dim: Dim, own: Sequence[Statement], width: int, hints: Mapping[str, int], target: Target
) -> Tile:
    """The tiles of a dim along which ``own`` statements run, in groups where sums are large."""
    groups = target.groups(groups_of(typical(dim, hints)), sums(dim, own))
    alone = all(s.reduced <= {dim} | {a.index for a in s.axes} for s in own if dim in s.reduced)
    group = Dim(f"{dim.name}_g") if alone and sums(dim, own) >= GROUPED else None
    return Tile(dim, width, Dim(f"{dim.name}_o"), Dim(f"{dim.name}_i"), group, groups)


def _form(statement: Statement, dim: Dim, lane: Dim | None, in_turn: frozenset[Dim]) -> Form:
    if lane == dim:
        return "lane"
    if statement.kind in ("input", "host") or lane is not None or dim in in_turn:
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
    forms: Forms,
    statements: Mapping[str, Statement],
    tiles: Mapping[Dim, Tile],
) -> Statement:
    own = forms[statement.name]
    split = {d: tiles[d] for d, form in own.items() if form in ("lane", "split")}

    def at_tile(load: Load) -> Load:
        return _load(load, statements[load.tensor], forms[load.tensor], tiles)

    rewrite = Rewrite({d: t.point for d, t in split.items()}, at_tile)
    dims: list[Dim] = []
    axes: list[Axis] = []
    for d in statement.dims:
        if own.get(d) == "axis":
            axes.append(Axis(d, expr(d.extent), expr(d.extent)))
            continue
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
        lanes=frozenset(
            tiles[d].inner if form == "lane" else d
            for d, form in own.items()
            if form in ("lane", "axis")
        ),
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
        if form in ("whole", "axis"):
            (dims if form == "whole" else axes).append(e)
            continue
        *loops, place = tiles[d].split(e)
        dims += loops
        (axes if form == "lane" else dims).append(place)
    return replace(load, dims=tuple(dims), axes=(*axes, *load.axes))
