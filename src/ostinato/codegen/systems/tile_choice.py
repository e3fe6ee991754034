"""Which dims are tiled, for which statements, and how wide: by the work, and by known extents."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import isqrt, prod

from ostinato.codegen.ir.partial_sums import GROUPED, ROW, TILES
from ostinato.codegen.ir.system import Axis, Load, Statement, System
from ostinato.codegen.systems.carried import carried_dims, serial_dims
from ostinato.codegen.target import Target
from ostinato.machine.profile import TYPICAL_EXTENT
from ostinato.pdg.index import Dim, Expr, Extent, evaluate, expr, symbols

ALONE = 0.5  # of the elements of the vectors of a point are used, or more
FEW = 16  # times fewer numbers than what a loop carries has


@dataclass(frozen=True)
class TileChoice:
    """The lane of every statement (None: it has none), the rows per tile, and the ``points``.

    ``free`` are the lanes that it might have had, and ``in_turn`` the dims whose points it computes
    one after the other: those that carry it, or of which it makes few numbers of what is carried.
    Each point of such a dim is work for one worker as it is, without a tile: all that could run in
    tiles along it fills vectors by itself, and what is tiled along another dim has it as a loop.
    There may be several, such as the settings and the seeds of a sweep. ``short`` gives
    for dims whose extent is unknown how many points are work for one worker only.
    """

    lanes: dict[str, Dim | None]
    free: dict[str, frozenset[Dim]]
    in_turn: dict[str, frozenset[Dim]]
    widths: dict[Dim, int]
    points: frozenset[Dim]
    short: dict[Dim, int]


def chosen_tiles(
    system: System, widths: Mapping[str, int], workers: int, target: Target
) -> TileChoice:
    """Choose tiles for a system at its hints; ``widths`` gives some by the names of dims."""
    statements = system.statements
    carried = carried_dims(statements)
    serial = serial_dims(statements, carried)
    in_turn = {n: carried[n] | _read_in_turn(s, carried, statements) for n, s in statements.items()}
    lanes = {name: _lanes(s, in_turn[name] | serial) for name, s in statements.items()}
    chosen = _chosen(lanes, system, target)
    found: dict[Dim, int] = {}
    points: set[Dim] = set()
    short: dict[Dim, int] = {}
    for d in sorted(frozenset[Dim]().union(*lanes.values()), key=lambda d: d.serial):
        own = [s for name, s in statements.items() if chosen[name] == d]
        every = [s for name, s in statements.items() if d in lanes[name]]
        beside = [n for n, other in chosen.items() if other not in (None, d)]
        crossed = any(d in statements[n].dims and d not in carried[n] for n in beside)
        if crossed and d.name not in widths and _fills_vectors(d, every, target):
            points.add(d)
            if _hinted(d, system.hints) is None:
                short[d] = target.spread
            continue
        if not own:
            continue
        has_steps = _has_steps(d, own, carried)
        width = widths.get(d.name, 0)
        found[d] = width or _width(d, own, system.hints, workers, has_steps, target)
        if not width and _hinted(d, system.hints) is None:
            short[d] = found[d] * target.spread
    lanes_left = {name: None if d in points else d for name, d in chosen.items()}
    return TileChoice(lanes_left, lanes, in_turn, found, frozenset(points), short)


def without_lone_points(system: System, target: Target) -> System:
    """Return the system with no lanes along dims that are hinted to have one point.

    Such a point is work as it is, and has none beside it: it is a loop of one step, and everything
    else is chosen as if it were not there. Where points share operands their tile has one row.
    """
    statements = system.statements
    along: dict[Dim, list[Statement]] = {}
    for s in statements.values():
        for d in s.lanes:
            along.setdefault(d, []).append(s)
    lone = frozenset(
        d
        for d, own in along.items()
        if _hinted(d, system.hints) == 1 and _fills_vectors(d, own, target)
    )
    if not lone:
        return system
    for dim in sorted(lone, key=lambda d: d.serial):
        system = in_steps(system, dim)
    return system


def in_steps(system: System, dim: Dim) -> System:
    """The system with no lanes along a dim, whose steps are computed one after the other."""
    along = {name: s for name, s in system.statements.items() if dim in s.lanes}
    changed = {name: replace(s, lanes=s.lanes - {dim}) for name, s in along.items()}
    return replace(system, statements={**system.statements, **changed})


def _fills_vectors(dim: Dim, own: Sequence[Statement], target: Target) -> bool:
    """Whether a point of a dim is enough work, and gains nothing from other points beside it."""
    return _is_much(own, target) and not any(dim in _sharing(s, target) for s in own)


def _is_much(own: Sequence[Statement], target: Target) -> bool:
    """Whether a point is enough work for a worker, in rows that fill vectors."""
    rows = [_row(s) for s in own]
    vectors = sum(-(-row // target.lanes) for row in rows)
    return sum(rows) >= max(target.alone_elements, ALONE * vectors * target.lanes)


def _sharing(s: Statement, target: Target) -> frozenset[Dim]:
    """The dims whose points share an operand of a product, or add up in it.

    A point that has a whole block of rows for the operand by itself gains nothing from others.
    """
    if s.kind != "matmul":
        return frozenset()
    loaded = s.reads
    once = [x for x in loaded if _rows_beside(s, x) < target.tiles.block]
    own = {d for d in s.dims if any(d not in _dims_of(x) for x in once)}
    return frozenset(own | (s.reduced & {*s.dims}))


def _rows_beside(s: Statement, load: Load) -> int:
    """The rows of a product at a point that read the same elements of an operand."""
    read = frozenset[Dim]().union(*(each.dims for each in load.axes))
    return prod(_length(a) for a in s.result_axes if a.index not in read)


def _dims_of(load: Load) -> frozenset[Dim]:
    return frozenset[Dim]().union(*(each.dims for each in load.dims))


def _lanes(statement: Statement, carried: frozenset[Dim]) -> frozenset[Dim]:
    """The lanes that may become tiles: an arg fold keeps its position along a whole axis."""
    if statement.kind in ("input", "host"):
        return frozenset()
    taken = statement.reduced if statement.fold.startswith("arg") else frozenset[Dim]()
    return statement.lanes - carried - taken


def _read_in_turn(
    s: Statement, carried: Mapping[str, frozenset[Dim]], statements: Mapping[str, Statement]
) -> frozenset[Dim]:
    """The dims at whose points a statement makes few numbers of what a loop carries along them.

    The loop has that at hand at its step, and would keep all elements of all steps for a tile. Only
    products gain more by many rows.
    """
    found = set[Dim]()
    for x in s.reads if s.kind != "matmul" else ():
        source = statements[x.tensor]
        if FEW * _row(s, s.reduced) <= _row(source, source.reduced):
            steps = zip(source.result_dims, x.dims, strict=True)
            found |= {d for step, at in steps if step in carried[x.tensor] for d in at.dims}
    return frozenset(found)


def _nearest(system: System) -> Counter[Dim]:
    """The dims along which arguments and results lie point by point, and how many do."""
    ends = system.ends
    dims = (system.statements[name].result_dims for name in ends)
    return Counter(found[-1] for found in dims if found)


def _read_side_by_side(
    statements: Iterable[Statement], lanes: Mapping[str, frozenset[Dim]]
) -> Counter[Dim]:
    """The dims whose points lie side by side in what is read, and how often.

    What may run in tiles itself lies as its tiles do.
    """
    loaded = (x for s in statements for x in s.reads)
    last = (x.dims[-1].as_dim() for x in loaded if x.dims and not x.axes and not lanes[x.tensor])
    return Counter(d for d in last if d is not None)


def _chosen(
    lanes: Mapping[str, frozenset[Dim]], system: System, target: Target
) -> dict[str, Dim | None]:
    """One lane per statement, a dim that is not known to be short.

    Of such it is the one whose rows share the operands of most products, then the one that serves
    most statements, then the one whose rows lie side by side in arguments and results, or else in
    what is read. Points that are much work as they are come last where rows of another dim share
    operands, few as these may be.
    """
    near, statements = _nearest(system), system.statements

    def is_short(dim: Dim) -> bool:
        hinted = _hinted(dim, system.hints)
        return hinted is not None and hinted < target.tiles.narrowest

    def fills(dim: Dim, names: Iterable[str]) -> bool:
        own = [statements[name] for name in sorted(names) if dim in lanes[name]]
        return _fills_vectors(dim, own, target)

    chosen: dict[str, Dim | None] = dict.fromkeys(lanes)
    sharing = {name: _sharing(statements[name], target) & found for name, found in lanes.items()}
    left = {name for name, found in lanes.items() if found}
    while left:
        votes = Counter(d for name in left for d in lanes[name])
        shares = Counter(d for name in left for d in sharing[name])
        apart = {d for d in votes if shares and fills(d, left)}
        read = _read_side_by_side((statements[name] for name in left), lanes)
        best = min(
            votes,
            key=lambda d: (
                *(d in apart, is_short(d), -shares[d], -votes[d], -near[d], -read[d]),
                d.serial,
            ),
        )
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


def typical(dim: Dim, hints: Mapping[str, int]) -> int:
    """What the extent of a dim usually is; 0 where that follows from another dim."""
    return usual(expr(dim.extent), hints)


def usual(size: Expr, hints: Mapping[str, int]) -> int:
    """What a size usually is; 0 where that follows from a dim."""
    if size.dims:
        return 0
    extents = (x for x in symbols(size) if isinstance(x, Extent))
    return evaluate(size, {x: hints.get(x.name, TYPICAL_EXTENT) for x in extents})


def sums(dim: Dim, own: Sequence[Statement]) -> int:
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
    beside = tiles.rows_beside(max((_row(s) for s in own if s.kind == "matmul"), default=0))
    enough = typical(dim, hints) >= tiles.adding * TILES
    if enough and not has_steps and sums(dim, own) >= GROUPED:
        beside = max(beside, tiles.adding)
    widest, steps = (
        max(tiles.narrow if _is_narrow(own, target) else tiles.usual, beside),
        _hinted(dim, hints),
    )
    if not symbols(dim.extent):
        workers = TILES  # without a hint no result depends on the number of threads
    if steps is None:
        is_narrow = target.spread > 1 and _is_narrow(own, target)
        return max(tiles.narrow if is_narrow else tiles.usual, beside)
    lines = sum(_row(s) for s in own if dim not in s.reduced)
    widest = max(widest, balanced_width(steps, lines, sums(dim, own), workers, target))
    narrowest = _narrowest(dim, own, steps, target)
    return default_width(steps, workers, widest, narrowest, tiles.unit)


def _narrowest(dim: Dim, own: Sequence[Statement], steps: int, target: Target) -> int:
    """The rows that a tile has at least.

    Points that are much work need no others to fill vectors. Of those that share operands a block
    of a product has some, but two workers have a tile each.
    """
    if not _is_much(own, target):
        return target.tiles.narrowest
    if not any(dim in _sharing(s, target) for s in own):
        return 1
    return max(1, min(target.tiles.block, -(-steps // 2)))


def _is_narrow(own: Sequence[Statement], target: Target) -> bool:
    return max(map(_row, own), default=1) <= target.lanes


def _row(s: Statement, without: frozenset[Dim] = frozenset()) -> int:
    """The numbers that a row of a statement holds; a run-time size counts as many."""
    return prod(_length(axis) for axis in s.axes if axis.index not in without)


def _length(axis: Axis) -> int:
    return axis.pad.const if axis.pad.is_const else ROW + 1


def balanced_width(steps: int, line: int, sums: int, workers: int, target: Target) -> int:
    """The rows per tile with which partial sums and tiles of every worker take least memory.

    A row has ``line`` numbers, the partial sums of a tile have ``sums``. Where sums of the usual
    tiles fit into the caches, or tiles would not, nothing is to be won: the answer is small.
    """
    usual, line = target.tiles.usual, max(1, line)
    if sums * steps < target.far_bytes // 4 * usual:
        return usual
    return max(usual, min(isqrt(sums * steps // (workers * line)), target.near_bytes // 4 // line))


def default_width(steps: int, workers: int, widest: int, narrowest: int, unit: int = 1) -> int:
    """The rows per tile for a dim of about ``steps``: workers should have equally many tiles.

    A tile of more than ``unit`` rows has a multiple of them.

    >>> [default_width(steps, 2, 32, 8) for steps in (1, 40, 64, 96, 4096)]
    [1, 24, 32, 24, 32]
    """
    if steps < narrowest:
        return steps
    rounds = -(-steps // (workers * widest))
    share = -(-steps // (workers * rounds))
    step = max(narrowest, unit) if share > unit else narrowest
    return min(widest, -(-share // step) * step)
