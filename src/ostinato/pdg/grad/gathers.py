"""The reverse of gathers from a table that many steps read: their adjoints are added at positions.

A step that reads one row of a table would give a table of zeros but for that row, and the sum over
the steps would add them all. Instead the adjoints of all steps stand side by side as the updates of
one scatter.
"""

from __future__ import annotations

from ostinato.pdg.arithmetic import Algebra
from ostinato.pdg.build import ONE, affine, along, gather, order, read, reshape, transpose
from ostinato.pdg.condition import at_least
from ostinato.pdg.functions import POSITIONS
from ostinato.pdg.grad.preimage import Dims
from ostinato.pdg.grad.read_adjoints import Adjoint
from ostinato.pdg.index import Dim, Expr, product
from ostinato.pdg.intervals import interval
from ostinato.pdg.node import Gather, Node, Reduce, Reshape

FEW_ROWS = 16  # of a table: comparing with all of them is one vector operation


def clamped(node: Node, index: Node, size: Expr) -> Node:
    """The index as the gather uses it; an argmax over the same axis is inside already."""
    source = index
    while isinstance(source.op, Reshape):
        source = source.args[0]
    if isinstance(source.op, Reduce) and source.op.fn in POSITIONS:
        if source.args[0].shape[source.op.axes[0]] == size:
            return index
    a = Algebra(node.where)
    last = a.cast(affine(size - 1), index.dtype)
    return a.map("minimum", a.map("maximum", index, a.number(0, index)), last)


def taken(up: Node, index: Node, axis: int, size: Expr, where: str) -> Node:
    """``up`` at positions of an axis of a size; zeros where the axis has no element."""
    out = gather(up, index, axis, where)
    is_never_empty = interval(size).low >= 1
    return out if is_never_empty else Algebra(where).switch(at_least(size, 1), out)


def collected(node: Node, missing: Dims) -> tuple[Dim, ...]:
    """The dimensions whose steps each read one row of a table that does not depend on them."""
    assert isinstance(node.op, Gather), f"{node} is no gather"
    x, index = node.args
    size = x.shape[node.op.axis]
    few = size.is_const and size.const <= FEW_ROWS
    if few or node.op.window is not None or index.shape[node.op.axis] != ONE:
        return ()
    varying = frozenset[Dim]().union(*(s.dims for s in (*node.shape, size)))
    return order((missing & frozenset(index.domain)) - varying)


def collect_steps(node: Node, steps: tuple[Dim, ...], up: Adjoint) -> Node:
    """The adjoint of the table, in which the adjoint of every step is added at its row."""
    assert isinstance(node.op, Gather), f"{node} is no gather"
    a, (x, index), axis = Algebra(node.where), node.args, node.op.axis
    size, here = x.shape[axis], list(node.shape)
    here[axis] = size
    rows = a.cast(clamped(node, index, size), "int32")
    both = (_in_a_row(a.switch(up.guard, v), steps, axis) for v in (up.value, rows))
    return a.fit(along("scatter", list(both), axis, size, node.where), tuple(here), x.shape)


def _in_a_row(x: Node, steps: tuple[Dim, ...], axis: int) -> Node:
    """The values of all steps as one axis, in place of an axis of size 1."""
    history = read(x, [(d, d.whole) for d in steps], x.where)
    count, rest = len(steps), list(range(-x.rank, 0))
    place = x.rank + axis
    first = list(range(-history.rank, -x.rank))
    moved = transpose(history, [*rest[:place], *first, *rest[place:]], x.where)
    total = product(moved.shape[place : place + count])
    shape = (*moved.shape[:place], total, *moved.shape[place + count + 1 :])
    return reshape(moved, shape, where=x.where)
