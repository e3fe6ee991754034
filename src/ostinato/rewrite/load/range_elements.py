"""Elements of what is computed from ranges that follow the point, as rows.

``y[i]`` of an axis as long as a range is computed from the step ``lo + i`` of the range alone.
"""

from __future__ import annotations

from collections.abc import Iterable

from ostinato.pdg.bounds import is_never_negative
from ostinato.pdg.index import Expr, Slice, dims_of
from ostinato.pdg.node import Node, Part, Read
from ostinato.rewrite.engine.egglog_session import Row
from ostinato.rewrite.load.tables import Tables


def element_rows(tables: Tables, nodes: Iterable[Node]) -> dict[str, list[Row]]:
    """Rows about the elements that a program asks for; adds the indices of them in ranges."""
    known = tuple(nodes)
    asked = dict.fromkeys(pair for node in known for pair in _elements(node))
    lengths = {size for size, _ in asked}
    ranges = dict.fromkeys(part for node in known for part in _ranges(node))
    out: dict[str, dict[Row, None]] = {"alone": {}, "section": {}, "piece": {}, "end": {}}

    def alone(at: Expr) -> int:
        part = tables.id(Slice(at, at + 1))
        out["alone"][part, tables.id(at)] = None
        return part

    for size, at in asked:
        if at == size - 1:
            out["end"][tables.id(size), tables.id(at)] = None
    for part in ranges if lengths else ():
        for size, at in asked:
            if size == part.size:
                element = alone(at)
                out["section"][tables.id(size), element] = None
                out["piece"][tables.id(part), element, alone(part.lo + at)] = None
    return {relation: list(rows) for relation, rows in out.items()}


def _elements(node: Node) -> Iterable[tuple[Expr, Expr]]:
    """The size of an axis that follows the point, and the index in it that is asked for."""
    match node.op:
        case Part(axis, Expr() as at) if dims_of(size := node.args[0].shape[axis]):
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
