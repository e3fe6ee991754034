"""An operator with other operands."""

from __future__ import annotations

from collections.abc import Sequence
from typing import assert_never

from ostinato.pdg import build
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
    named_if_not,
)


def renewed(node: Node, args: Sequence[Node]) -> Node:
    """The node with these operands, at the same place and under the same name."""
    if tuple(args) == node.args:
        return node
    return named_if_not(remade(node, args), node.origin)


def remade(node: Node, args: Sequence[Node]) -> Node:
    """The node that the constructors make of the operator of ``node`` and these operands.

    Errors: ValueError for another number of operands than the operator takes.
    """
    match node.op:
        case Input() | Const() | Rec() | Random() | Affine() | Iota():
            () = args
            return _leaf(node)
        case Read(at):
            return build.read(_one(args), at)
        case Map(fn):
            return build.map_node(fn, args, node.dtype)
        case Reduce(fn, axes):
            return build.reduce_node(fn, _one(args), axes)
        case Matmul():
            x, y = args
            return build.matmul(x, y)
        case Reshape(rank, shape):
            return build.reshape(_one(args), shape, rank)
        case Transpose(perm):
            return build.transpose(_one(args), perm)
        case Broadcast(shape):
            return build.broadcast(_one(args), shape)
        case Concat(axis):
            return build.concat(args, axis)
        case Part(axis, at):
            return build.part(_one(args), axis, at)
        case Gather(axis, window):
            x, y = args
            return build.gather(x, y, axis, window=window)
        case Along(fn, axis, size):
            return build.along(fn, args, axis, size)
        case Case(cond):
            x, y = args
            return build.case(cond, x, y)
        case Scan(fn, dim, reverse):
            return build.scan(fn, _one(args), dim, reverse)
        case Linear(dim, reverse):
            x, y = args
            return build.linear(x, y, dim, reverse)
        case Host():
            return build.host(node.op, args, node)
        case other:
            assert_never(other)


def _one(args: Sequence[Node]) -> Node:
    (x,) = args
    return x


def _leaf(node: Node) -> Node:
    match node.op:
        case Affine(of):
            return build.affine(of)
        case Iota(size):
            return build.iota(size)
        case _:
            return node
