"""Lines of matrices, decided anew: the row, or the column, at the point of a dimension.

A function of matrices has as row the function of their rows; a matrix that repeats what an axis of
size 1 holds has that in every row. What is not taken apart is the row by definition: a part.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from ostinato.certificate.index_facts import Numbers
from ostinato.pdg.build import along, concat, const, map_node, part, read, reshape
from ostinato.pdg.element import element
from ostinato.pdg.index import Expr, expr
from ostinato.pdg.node import Along, Concat, Const, Map, Matmul, Node, Read, Transpose, postorder
from ostinato.rewrite.engine.egglog_session import Row

_ONE = expr(1)


def line_rows(
    nodes: dict[Node, int], numbers: Numbers, add: Callable[[Node], int]
) -> dict[str, list[Row]]:
    """The lines of operands of products, and of masks under running products."""
    out: dict[str, list[Row]] = {}
    for matrix in list(_matrices(nodes)):
        for name, axis in (("raw_rows", -2), ("raw_columns", -1)):
            for dim in numbers.dims:
                if dim in matrix.domain or matrix.shape[axis] != expr(dim.extent):
                    continue
                found = _line(matrix, axis, expr(dim))
                *_, last = [add(node) for node in postorder((found,))]
                row = (nodes[matrix], numbers.bit(dim), numbers.of(dim.whole), last)
                out.setdefault(name, []).append(row)
    return out


def _matrices(nodes: dict[Node, int]) -> Iterator[Node]:
    """What a line may be asked of: nothing but functions of matrices and running products."""
    for node in nodes:
        if isinstance(node.op, Matmul) and node.rank == 2:
            found = [x for x in node.args if isinstance(x.op, Map | Along | Transpose)]
        elif isinstance(node.op, Along) and isinstance(node.args[0].op, Map):
            found = list(node.args[0].args[:1])
        else:
            found = []
        yield from (x for x in found if x.rank == 2)


def _line(x: Node, axis: int, at: Expr) -> Node:
    """The line of a matrix across an axis, as a column."""
    match x.op:
        case Map(fn):
            return map_node(fn, [_line(a, axis, at) for a in x.args], x.dtype)
        case Transpose():
            return _line(x.args[0], -3 - axis, at)
        case Along(fn, along_axis, _) if along_axis != axis and len(x.args) == 1:
            return along(fn, [_line(x.args[0], axis, at)], -2)
        case Along():
            return _column(part(x, axis, at))
        case _:
            return _column(element(x, axis, at))


def _column(x: Node) -> Node:
    """A vector as a column, by columns of what it reads and joins."""
    match x.op:
        case Const((value,)):
            return const(value, x.dtype, (*x.shape, _ONE, _ONE)[:2])
        case Read(at) if not x.args[0].rank:
            return read(reshape(x.args[0], (_ONE,)), at)
        case Concat(-1):
            return concat([_column(a) for a in x.args], -2)
        case Map(fn) if all(a.rank == x.rank for a in x.args):
            return map_node(fn, [_column(a) for a in x.args], x.dtype)
        case _:
            return reshape(x, (x.shape[0] if x.rank else _ONE, _ONE))
