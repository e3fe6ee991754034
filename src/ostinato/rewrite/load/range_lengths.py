"""How many steps ranges have, as values, and which ranges a program sums the distances of.

Laws of variances need the counts of ranges that no equation names: those that begin where others
begin, and the parts of windows.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator

from ostinato.pdg.build import affine, const, iota
from ostinato.pdg.index import Slice, dims_of, expr
from ostinato.pdg.node import Dtype, Iota, Map, Node, Read, Reduce, postorder
from ostinato.rewrite.load.tables import Tables


def name_ranges(tables: Tables, nodes: Collection[Node]) -> None:
    """Give the ranges from the start, or to the end, ids where others are read off them."""
    if not any(map(_is_spread, nodes)):
        return
    reads = (node.op.at for node in nodes if isinstance(node.op, Read))
    for dim, part in (pair for at in reads for pair in at):
        if not isinstance(part, Slice):
            continue
        if part.lo == expr(0) and dims_of(part.hi):
            tables.id(Slice(expr(0), expr(dim) + 1))
        if part.hi == expr(dim.extent) and dims_of(part.lo):
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
        if isinstance(part, Slice) and dims_of(part.lo) | dims_of(part.hi):
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
    return (
        isinstance(terms.op, Map)
        and terms.op.fn in ("mul", "pow")
        and all(
            isinstance(x.op, Map) and x.op.fn == "sub"
            for x in terms.args[: 1 + (terms.op.fn == "mul")]
        )
    )
