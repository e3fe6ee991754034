"""Folds in parts: one partial result per tile and per lane, then a combination in a fixed order.

Partial results belong to tiles, not to workers, so that results do not depend on the number of
workers; and to lanes where they are the innermost axis, so that a fold over points adds vectors. So
does a fold over a matrix, slice by slice: numbers that are added up in one place wait for each
other.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from ostinato.codegen.ir.partial_sums import ROWS, is_short_row, slices_of
from ostinato.codegen.ir.system import Axis, Load, Statement, fresh
from ostinato.codegen.ir.tree import Contraction, Fill, Leaf, Loop, Nest, Path, Tree, leaves
from ostinato.codegen.ir.values import Rewrite
from ostinato.codegen.systems.axes import long_axes
from ostinato.pdg.condition import ALWAYS
from ostinato.pdg.functions import FLOATS, POSITIONS
from ostinato.pdg.index import Dim, expr
from ostinato.pdg.pass_record import ALL_PASSES, Passes


def split_folds(
    statements: Mapping[str, Statement],
    tiles: frozenset[Dim],
    passes: Passes = ALL_PASSES,
    spread: bool = False,
) -> dict[str, Statement]:
    """Split every fold over tiles, and over lanes where it also runs over points.

    If it is to ``spread`` over many workers, a tile adds up its lanes itself, and a slice of a
    matrix may be one row.
    """
    out: dict[str, Statement] = {}
    whole, least = "folds of matrices" in passes.without, 1 if spread else ROWS
    for name, s in statements.items():
        apart, is_whole = _apart(s, tiles), True
        while True:
            if not apart and not whole and (found := _matrix(s)):
                lane = frozenset({found[1].index})
                s, apart = _in_slices(s, *found, least) if is_whole else (s, lane)
                is_whole = False
            if not apart:
                break
            outer = apart & tiles if spread else frozenset[Dim]()
            first, then = (outer, apart - outer) if outer else (apart, outer)
            part = _partial(s, first, fresh(f"{name}_part", {*statements, *out}))
            s = _combined(s, part, first)
            if then:
                lanes = _partial(part, then, fresh(f"{name}_lanes", {*statements, *out}))
                out[lanes.name], part = lanes, _combined(part, lanes, then)
            out[part.name], apart = part, frozenset[Dim]()
        out[name] = s
    return out


def _matrix(s: Statement) -> tuple[Axis, Axis] | None:
    """The last two loops of a fold of floats, if it folds both: rows of whole vectors."""
    last = long_axes(s)[-2:]
    if s.kind != "fold" or s.dtype not in FLOATS or s.fold in POSITIONS or len(last) < 2:
        return None
    row, lane = last
    whole = lane.size == lane.pad and not is_short_row(lane.size)
    return (row, lane) if {row.index, lane.index} <= s.reduced and whole else None


def _in_slices(s: Statement, row: Axis, lane: Axis, least: int) -> tuple[Statement, frozenset[Dim]]:
    """A fold over a matrix, and the indices that stay: the lane, and the slice of the rows."""
    is_known = row.size.is_const and row.size == row.pad
    slices = slices_of(row.size.const, least) if is_known else 1
    if slices == 1:
        return s, frozenset({lane.index})
    rows = row.size.const // slices
    outer, inner = Dim(f"{row.index.name}_s"), Dim(f"{row.index.name}_r")
    pair = (Axis(outer, expr(slices), expr(slices)), Axis(inner, expr(rows), expr(rows)))
    axes = tuple(x for a in s.axes for x in (pair if a is row else (a,)))
    reduced = (s.reduced - {row.index}) | {outer, inner}
    moved = Rewrite({row.index: expr(outer) * rows + inner}).clauses(s)
    moved = replace(moved, axes=axes, reduced=reduced, lanes=s.lanes - {row.index})
    return moved, frozenset({lane.index, outer})


def _apart(s: Statement, tiles: frozenset[Dim]) -> frozenset[Dim]:
    """The reduced indices that keep separate partial results."""
    if s.kind not in ("fold", "matmul") or s.fold in POSITIONS:
        return frozenset()
    apart = s.reduced & tiles
    points = {d for d in s.dims if d in s.reduced} - tiles
    if s.kind == "fold" and points:
        apart |= {a.index for a in long_axes(s)[-1:] if a.index in s.reduced & s.lanes}
    return apart if s.reduced - apart else frozenset()


def _partial(s: Statement, apart: frozenset[Dim], name: str) -> Statement:
    return replace(s, name=name, base=s.lowered, reduced=s.reduced - apart)


def _combined(s: Statement, part: Statement, apart: frozenset[Dim]) -> Statement:
    kept = part.result_dims
    axes = tuple(_filled(a, part.reduced) for a in part.result_axes)
    load = Load(part.name, tuple(map(expr, kept)), tuple(expr(a.index) for a in axes), s.dtype)
    return replace(s, kind="fold", dims=kept, axes=axes, clauses=((ALWAYS, load),), reduced=apart)


def _filled(axis: Axis, done: frozenset[Dim]) -> Axis:
    """An axis of accumulators: all are set to the unit, also those that few tiles add to."""
    return replace(axis, size=axis.pad) if axis.size.dims & done else axis


def with_fills(
    trees: Sequence[Tree], statements: Mapping[str, Statement], done: frozenset[str] = frozenset()
) -> tuple[Tree, ...]:
    """Set every accumulator in memory to its unit, before the outermost loop that it folds over.

    The fill runs over the result dims whose loops lie inside that loop.
    """
    out: list[Tree] = []
    for tree in trees:
        if not isinstance(tree, Loop):
            out += [Fill(name) for name in _accumulated(tree) if name not in done]
            out.append(tree)
            continue
        filled: set[str] = set()
        for leaf, path, _ in leaves(tree.body):
            for name in _accumulated(leaf):
                if tree.dim in statements[name].reduced and name not in done:
                    out.append(_fill(statements[name], path))
                    filled.add(name)
        out.append(replace(tree, body=with_fills(tree.body, statements, done | filled)))
    return tuple(out)


def _accumulated(leaf: Leaf) -> Iterator[str]:
    """The accumulators in memory that a leaf adds to."""
    if isinstance(leaf, Nest):
        yield from (name for name in leaf.statements if name in leaf.memory)
    elif isinstance(leaf, Contraction) and leaf.accumulate:
        yield leaf.statement


def _fill(statement: Statement, path: Path) -> Tree:
    tree: Tree = Fill(statement.name)
    for loop in reversed(path):
        if loop.dim in statement.result_dims:
            tree = Loop(loop.span, False, loop.parallel, (tree,))
    return tree
