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
    """The node that the constructors make of the operator of ``node`` and these operands."""
    match node.op:
        case Input() | Const() | Rec() | Random():
            return node
        case Affine(of):
            return build.affine(of)
        case Iota(size):
            return build.iota(size)
        case Read(at):
            return build.read(args[0], at)
        case Map(fn):
            return build.map_node(fn, args, node.dtype)
        case Reduce(fn, axes):
            return build.reduce_node(fn, args[0], axes)
        case Matmul():
            return build.matmul(args[0], args[1])
        case Reshape(rank, shape):
            return build.reshape(args[0], shape, rank)
        case Transpose(perm):
            return build.transpose(args[0], perm)
        case Broadcast(shape):
            return build.broadcast(args[0], shape)
        case Concat(axis):
            return build.concat(args, axis)
        case Part(axis, at):
            return build.part(args[0], axis, at)
        case Gather(axis, window):
            return build.gather(args[0], args[1], axis, window=window)
        case Along(fn, axis, size):
            return build.along(fn, args, axis, size)
        case Case(cond):
            return build.case(cond, args[0], args[1])
        case Scan(fn, dim, reverse):
            return build.scan(fn, args[0], dim, reverse)
        case Linear(dim, reverse):
            return build.linear(args[0], args[1], dim, reverse)
        case Host():
            return build.host(node.op, args, node)
        case other:
            assert_never(other)
