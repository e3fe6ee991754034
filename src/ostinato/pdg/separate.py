"""Dimensions whose points have nothing in common, such as the trainings of a sweep."""

from __future__ import annotations

from collections.abc import Set
from itertools import combinations

from ostinato.pdg.index import Dim, Slice, expr
from ostinato.pdg.node import MOVES, Case, Linear, Map, Matmul, Node, Part, Pdg, Read, Scan

_NONE = frozenset[Dim]()


def separate_dims(pdg: Pdg) -> tuple[Dim, ...]:
    """The dimensions along which a program is the same work again, in declaration order.

    No operand of a product serves several of their points, nothing reads another point or adds up
    several, and no condition, extent or shape mentions them. An output may hold all points side by
    side, and a value of a few of them may serve all others, as a learning rate does.
    """
    found = set(pdg.dims())
    for d in pdg.dims():
        found -= expr(d.extent).dims
    conds = [cond for equation in pdg.equations.values() for cond, _ in equation.cases]
    last = _held_by_outputs(pdg)
    reads = [n.op.at for n in pdg.nodes() if isinstance(n.op, Read) and n not in last]
    summed = {d for at in reads for d, index in at if isinstance(index, Slice)}
    found -= summed
    for node in pdg.nodes():
        found -= _joined(node, summed)
        conds += [node.op.cond] if isinstance(node.op, Case) else []
    for cond in conds:
        found -= cond.symbols
    return tuple(d for d in pdg.dims() if d in found)


def loops_of(separate: tuple[Dim, ...]) -> tuple[Dim, ...]:
    """What never becomes an axis: all of `separate_dims` but the innermost, which fills vectors.

    Axes of several would be there in every order, of every value.
    """
    return separate[:-1]


def _joined(node: Node, summed: Set[Dim]) -> Set[Dim]:
    """The dimensions whose points have to do with each other in one operator, but for slices."""
    sizes = _NONE.union(*(each.dims for each in node.shape))
    match node.op:
        case Matmul():
            left, right = (frozenset(x.domain) for x in node.args)
            return sizes | left ^ right
        case Map():
            return sizes.union(*(_crossed(x, y, summed) for x, y in combinations(node.args, 2)))
        case Scan(_, dim, _) | Linear(dim, _):
            return sizes | {dim}
        case Read(at):
            moved = {d: e for d, e in at if isinstance(e, Slice) or e.as_dim() is not d}
            points = {d for d, e in moved.items() if not isinstance(e, Slice)}
            return sizes.union(points, *(e.dims for e in moved.values()))
        case Part(_, at):
            return sizes | at.dims
        case _:
            return sizes


def _crossed(x: Node, y: Node, summed: Set[Dim]) -> Set[Dim]:
    """The dimensions of only one of two operands that are, summed up, a product of matrices."""
    left, right = frozenset(x.domain), frozenset(y.domain)
    is_summed = (x.rank and y.rank) or left & right & summed
    return left ^ right if is_summed and left - right and right - left else _NONE


def _held_by_outputs(pdg: Pdg) -> set[Node]:
    """The nodes that only move values on their way to an output."""
    others = {right for equation in pdg.equations.values() for _, right in equation.cases}
    last = set[Node]()
    for node in reversed(pdg.nodes()):
        if node not in others and isinstance(node.op, MOVES):
            last.add(node)
        else:
            others.update(node.args)
    return last
