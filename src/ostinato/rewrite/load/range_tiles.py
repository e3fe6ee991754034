"""Tiles of ranges that follow the point: new dimensions, one step of each for a tile.

Only of ranges over which a softmax is taken, and that may be long: a short row fits anywhere.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from ostinato.pdg.bounds import is_never_negative
from ostinato.pdg.index import Dim, Expr, Slice, dims_of, expr, floordiv, minimum, upper_bound
from ostinato.pdg.node import Map, Node, Pdg, Read, Reduce, postorder
from ostinato.rewrite.engine.egglog_session import Row
from ostinato.rewrite.load.tables import Tables

WIDTH = 128  # steps of a tile: its scores and weights stay in the nearest cache


def tile_dims(pdg: Pdg) -> dict[Expr, Dim]:
    """A dimension over the tiles of every length of a range that a softmax is taken over."""
    lengths = [size for node in pdg.nodes() for size in _softmax_lengths(node)]
    ranges = {s.size for s in _ranges(pdg)}
    used = {d.name for d in pdg.dims()}
    out: dict[Expr, Dim] = {}
    for size in dict.fromkeys(lengths):
        most = upper_bound(size)
        is_short = is_never_negative(2 * WIDTH - most)
        if size not in ranges or is_short or not is_never_negative(size - 1):
            continue
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
    if dims_of(shifted.shape[-1]) and any(_is_greatest(x) for x in found):
        yield shifted.shape[-1]


def _is_greatest(node: Node) -> bool:
    return isinstance(node.op, Reduce) and node.op.fn == "max" and node.op.axes == (-1,)


def _ranges(pdg: Pdg) -> Iterator[Slice]:
    """The ranges that follow the point, in the order in which they are read."""
    for node in pdg.nodes():
        for _, part in node.op.at if isinstance(node.op, Read) else ():
            if isinstance(part, Slice) and part.step == 1 and dims_of(part.lo) | dims_of(part.hi):
                yield part


def tile_rows(tables: Tables, pdg: Pdg, dims: Mapping[Expr, Dim]) -> dict[str, list[Row]]:
    """Rows about tiles and the ranges they are of; adds the slices and indices that they need."""
    found: dict[Expr, list[Slice]] = {size: [] for size in dims}
    for part in dict.fromkeys(_ranges(pdg)):
        found.get(part.size, []).append(part)
    out: dict[str, list[Row]] = {"tiled": [], "tile": [], "piece": [], "final": []}
    for size, dim in dims.items():
        bit, (first, *_) = tables.bit(dim), found[size]
        tile = tile_of(first, dim)
        number = tables.id(tile)
        tables.id(Slice(expr(0), expr(dim) + 1))  # names the step before
        out["tiled"].append((tables.id(size), number, bit))
        out["tile"].append((tables.id(size), number))
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
