"""Elements of what is computed from ranges that follow the point, as rows.

``y[i]`` of an axis as long as a range is computed from the step ``lo + i`` of the range alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ostinato.pdg.bounds import is_never_negative
from ostinato.pdg.index import Expr, Slice, expr
from ostinato.pdg.node import Gather, Node, Part, Read
from ostinato.rewrite.engine.egglog_session import Row
from ostinato.rewrite.load.tables import Tables
from ostinato.rewrite.relations import saying
from ostinato.rewrite.relations.meanings import Ordered


def element_rows(tables: Tables, nodes: Iterable[Node]) -> dict[str, list[Row]]:
    """Rows about the elements that a program asks for; adds the indices of them in ranges."""
    known = tuple(nodes)
    asked = dict.fromkeys(pair for node in known for pair in _elements(node))
    lengths = {size for size, _ in asked}
    ranges = dict.fromkeys(part for node in known for part in _ranges(node))
    out: dict[str, dict[Row, None]] = {"alone": {}, "section": {}, "step": {}}

    for part in ranges if lengths else ():
        for size, at in asked:
            if size == part.size:
                element, place = tables.id(Slice(at, at + 1)), tables.id(at)
                out["alone"][element, place] = None
                out["section"][tables.id(size), element] = None
                out["step"][tables.id(part), place, tables.id(part.lo + at)] = None
    greatest = dict.fromkeys(row for node in known for row in _greatest(tables, node))
    made = {relation: list(rows) for relation, rows in out.items()}
    return made | dict.fromkeys(saying(Ordered), list(greatest))


def _greatest(tables: Tables, node: Node) -> Iterator[Row]:
    """Where in an order of positions that of the greatest is, if an element of it is asked for."""
    match node.op:
        case Part(axis, Expr() as at) if isinstance(node.args[0].op, Gather):
            size = node.args[0].shape[axis]
            for claim in saying(Ordered).values() if is_never_negative(size - 1) else ():
                for fn, where in claim.functions:
                    if at == (size - 1 if where == "end of" else expr(0)):
                        yield fn, tables.id(size), tables.id(at)
        case _:
            pass


def _elements(node: Node) -> Iterable[tuple[Expr, Expr]]:
    """The size of an axis that follows the point, and the index in it that is asked for."""
    match node.op:
        case Part(axis, Expr() as at) if (size := node.args[0].shape[axis]).dims:
            if is_never_negative(at) and is_never_negative(size - at - 1):
                yield size, at
        case _:
            pass


def _ranges(node: Node) -> Iterable[Slice]:
    """The ranges that a read asks for."""
    match node.op:
        case Read(at):
            yield from (part for _, part in at if isinstance(part, Slice) and part.step == 1)
        case _:
            pass
