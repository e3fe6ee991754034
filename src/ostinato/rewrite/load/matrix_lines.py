"""Matrices of weights by their lines: the row, or the column, that belongs to a point.

The weights of a product may stand in a matrix, one row for each step of a dimension, that is
computed from positions along both axes. Its row at a point is a vector of weights of that point, of
which masks and lags are known as of any other, so what rules know of sums serves products too.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from ostinato.pdg.build import ONE, along, concat, const, map_node, part, read, reshape
from ostinato.pdg.constant import uniform
from ostinato.pdg.element import element
from ostinato.pdg.index import Dim, expr
from ostinato.pdg.node import (
    Along,
    Broadcast,
    Concat,
    Const,
    Iota,
    Map,
    Matmul,
    Node,
    Read,
    Reshape,
    Transpose,
    postorder,
)
from ostinato.rewrite.load.positions import Counted
from ostinato.rewrite.load.tables import Loaded

_SIDES = (("raw_rows", -2), ("raw_columns", -1))
_ACROSS = {"raw_rows": "raw_columns", "raw_columns": "raw_rows"}


def add_lines(loaded: Loaded, add_node: Callable[[Node], None]) -> None:
    """Rows for matrices of weights in products: their rows and columns, where these are known.

    Where a running product goes across the lines, those of its mask along it are said too.
    """
    whole = {expr(d.extent): d for d in loaded.tables.dims}
    products = [n for n in loaded.ids if isinstance(n.op, Matmul) and n.rank == 2]
    for matrix in dict.fromkeys(x for n in products for x in n.args):
        for relation, axis in _SIDES:
            dim = whole.get(matrix.shape[axis])
            if dim is not None and dim not in matrix.domain:
                _add_line(loaded, add_node, relation, _Lines(dim, axis), matrix)


def _add_line(
    loaded: Loaded, add_node: Callable[[Node], None], relation: str, lines: _Lines, matrix: Node
) -> None:
    line = lines.of(matrix)
    if line is None or not lines.is_of_positions:
        return
    for across, of in lines.across.items():
        _row(loaded, add_node, _ACROSS[relation], lines.dim, across, of)
    _row(loaded, add_node, relation, lines.dim, matrix, line)


def _row(
    loaded: Loaded,
    add_node: Callable[[Node], None],
    relation: str,
    dim: Dim,
    matrix: Node,
    line: Node,
) -> None:
    for node in postorder((line,)):
        if node not in loaded.ids:
            add_node(node)
    tables = loaded.tables
    cells = tables.bit(dim), tables.id(dim.whole), loaded.ids[line]
    loaded.row(relation, loaded.ids[matrix], *cells)


@dataclass
class _Lines:
    """The lines of matrices at a point of a dimension, across an axis: each a column."""

    dim: Dim
    axis: int
    across: dict[Node, Node] = field(default_factory=dict[Node, Node])
    is_of_positions: bool = False
    counted: Counted = field(default_factory=Counted)

    def of(self, x: Node) -> Node | None:
        """The line as a column, or None where it is not computed from such lines."""
        if x.rank != 2:
            return None
        if ONE not in x.shape and self.counted.has(x):
            self.is_of_positions = True
        other, turned = (-1 if self.axis == -2 else -2), _Lines(self.dim, -3 - self.axis)
        match x.op:
            case Map():
                return _made(x, [self.of(a) for a in x.args])
            case Transpose():
                turned.across, line = self.across, turned.of(x.args[0])
                self.is_of_positions |= turned.is_of_positions
                return line
            case Along(fn, axis, _) if axis == other and len(x.args) == 1:
                inner = self.of(x.args[0])
                return None if inner is None else along(fn, [inner], -2)
            case Along("prod", _, _) if len(x.args) == 1:
                return self._down(x, turned)
            case Const() | Iota() | Read() | Reshape() | Broadcast():
                return _column(element(x, self.axis, expr(self.dim)))
            case _:
                return None

    def _down(self, x: Node, turned: _Lines) -> Node | None:
        """A running product across the lines, of which the masks are known along it."""
        for mask in x.args[0].args[:1]:
            line = turned.of(mask)
            if line is not None and turned.is_of_positions:
                self.across[mask], self.is_of_positions = line, True
                return _column(part(x, self.axis, expr(self.dim)))
        return None


def _made(x: Node, args: list[Node | None]) -> Node | None:
    known = [a for a in args if a is not None]
    assert isinstance(x.op, Map), "only functions have such operands"
    return map_node(x.op.fn, known, x.dtype) if len(known) == len(args) else None


def _column(x: Node) -> Node:
    """A vector as a column: reads and joins of columns are again some."""
    match x.op:
        case Read(at) if x.args[0].rank == 0:
            return read(reshape(x.args[0], (ONE,)), at)
        case Concat(-1):
            return concat([_column(a) for a in x.args], -2)
        case Const(values) if uniform(values):
            return const(values[0], x.dtype, ((*x.shape, ONE, ONE)[:2]))
        case Map() if all(a.rank == x.rank for a in x.args):
            return map_node(x.op.fn, [_column(a) for a in x.args], x.dtype)
        case _:
            return reshape(x, (x.shape[0] if x.rank else ONE, ONE))
