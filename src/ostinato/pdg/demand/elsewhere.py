"""A value at another point, written out: the operator of its operands at that point.

Every operator but a leaf has its definition's value wherever its operands have one, so a read of an
operator is the operator of reads. Leaves (inputs, recurrences, draws and host calls) have values at
the points of their box only; a read of one stays.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import assert_never

from ostinato.pdg import build
from ostinato.pdg.condition import at_least, every
from ostinato.pdg.errors import DomainError
from ostinato.pdg.index import Dim, Expr, Index, Slice, expr, maximum, minimum
from ostinato.pdg.naming import called
from ostinato.pdg.node import (
    Affine,
    Along,
    Broadcast,
    Case,
    Concat,
    Const,
    Gather,
    Host,
    Input,
    Iota,
    Linear,
    Map,
    Matmul,
    Node,
    Part,
    Random,
    Read,
    Rec,
    Reduce,
    Reshape,
    Scan,
    Transpose,
)
from ostinato.pdg.remake import remade

Leaf = Input | Rec | Random | Host
Point = Mapping[Dim, Expr]


def is_leaf(node: Node) -> bool:
    """Whether a value exists inside its box only."""
    return isinstance(node.op, Leaf)


def elsewhere(node: Node, at: Point) -> Node:
    """Return ``node`` at other points: operators at them, down to leaves and reads.

    The result means the same as ``read(node, at)`` wherever that has a value.
    """
    known: dict[Node, Node] = {}
    stack = [node]
    while stack:
        top = stack[-1]
        if top in known:
            stack.pop()
            continue
        is_end = is_leaf(top) or isinstance(top.op, Read | Scan | Linear)
        inner: tuple[Node, ...] = () if is_end else top.args
        waiting = [a for a in inner if a not in known]
        if waiting:
            stack.extend(waiting)
        else:
            known[stack.pop()] = _moved(top, at, [known[a] for a in inner])
    return known[node]


def _moved(node: Node, at: Point, args: list[Node]) -> Node:
    """One operator at other points; ``args`` are its operands there."""
    if not any(d in at for d in node.domain):
        return node
    match node.op:
        case Input() | Rec() | Random() | Host():
            return build.read(node, list(at.items()), node.where)
        case Const():
            return node
        case Affine(of):
            return build.affine(of.at(at))
        case Iota(size):
            return build.iota(size.at(at))
        case Read(through):
            return _read(node, through, at)
        case Case(cond):
            return build.case(cond.at(at), args[0], args[1], node.where)
        case Scan():
            return _scan(node, node.op, at)
        case Linear(dim):
            return _linear(node, dim, at)
        case (
            Map() | Reduce() | Matmul() | Reshape() | Transpose() | Broadcast() | Concat() | Part()
            | Gather() | Along()
        ):  # fmt: skip
            return remade(_there(node, at), args)
        case other:
            assert_never(other)


def _there(node: Node, at: Point) -> Node:
    """The node with the sizes and indices of its operator at other points; its args are stale."""
    match node.op:
        case Reshape(rank, shape):
            op: Reshape | Broadcast | Part | Gather | Along = Reshape(rank, _sizes(shape, at))
        case Broadcast(shape):
            op = Broadcast(_sizes(shape, at))
        case Part(axis, index):
            op = Part(axis, index.at(at))
        case Gather(axis, (dim, steps)):
            inside = steps.at(at)
            assert isinstance(inside, Slice), f"the window of {node} is no slice"
            op = Gather(axis, (dim, inside))
        case Along(fn, axis, size):
            op = Along(fn, axis, size.at(at))
        case _:
            return node
    return replace(node, op=op)


def _sizes(shape: tuple[Expr, ...], at: Point) -> tuple[Expr, ...]:
    return tuple(size.at(at) for size in shape)


def _read(node: Node, through: tuple[tuple[Dim, Index], ...], at: Point) -> Node:
    """Two reads as one: the second one's indices at the points of the first."""
    (x,) = node.args
    both: dict[Dim, Index] = {d: index.at(at) for d, index in through}
    both |= {d: e for d, e in at.items() if d in x.domain and d not in both}
    return build.read(x, list(both.items()), node.where)


def _scan(node: Node, op: Scan, at: Point) -> Node:
    """A running fold, as the fold over all steps up to that one, or from it on."""
    step, (x,) = at.get(op.dim, expr(op.dim)), node.args
    end = expr(op.dim.extent)
    steps = Slice(minimum(step, end), end) if op.reverse else Slice(expr(0), maximum(step + 1, 0))
    there: dict[Dim, Index] = {**at, op.dim: steps}
    taken = build.read(x, [*there.items()])
    return build.reduce_node(op.fn, taken, (-taken.rank,), node.where)


def _linear(node: Node, dim: Dim, at: Point) -> Node:
    """A linear recurrence at another step; outside of its own steps it is zero."""
    others = [(d, e) for d, e in at.items() if d != dim]
    if any(dim in e.dims for _, e in others):
        fact = f"{called(node)} over {dim} is read where another index depends on {dim}"
        raise DomainError(fact, "Guard the read with `ot.where` on a condition.", node.where)
    if others:
        g, a = (build.read(x, others) for x in node.args)
        node = build.linear(g, a, dim, isinstance(node.op, Linear) and node.op.reverse, node.where)
    if dim not in at:
        return node
    step = at[dim]
    inside = every(at_least(step, 0), at_least(expr(dim.extent) - 1, step))
    found = build.read(node, [(dim, step)])
    return build.case(inside, found, build.const(0, found.dtype, found.shape), node.where)
