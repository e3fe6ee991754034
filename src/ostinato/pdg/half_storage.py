"""Halves as the bits that machine code keeps: float16 and bfloat16 become uint16.

Programs only move halves and cast them, so a cast is all that changes: to a half it becomes the
rounding to its bits, from a half the value of its bits.
"""

from __future__ import annotations

import numpy as np

from ostinato.pdg.build import map_node
from ostinato.pdg.functions import HALVES
from ostinato.pdg.node import Const, Map, Node, Pdg, intern
from ostinato.pdg.replace import mapped


def encoded(pdg: Pdg) -> Pdg:
    """Return the program with the bits of halves in their place."""
    if not any(node.dtype in HALVES for node in pdg.nodes()):
        return pdg
    out: dict[Node, Node] = {}
    for node in (*pdg.nodes(), *(eq.rec for eq in pdg.equations.values())):
        if node not in out:
            out[node] = _encoded(node, tuple(out[arg] for arg in node.args))
    return mapped(pdg, out, with_leaves=True)


def _encoded(node: Node, args: tuple[Node, ...]) -> Node:
    dtype = "uint16" if node.dtype in HALVES else node.dtype
    match node.op:
        case Map("cast"):
            return _cast(node, args[0])
        case Const(values) if dtype != node.dtype:
            bits = np.asarray(values, "float32").astype(node.dtype).view("uint16")
            op: Const = Const(tuple(int(v) for v in bits))
            return intern((op, (), node.domain, node.shape, dtype), node.origin)
        case _:
            key = (node.op, args, node.domain, node.shape, dtype)
            return intern(key, node.origin)


def _cast(node: Node, arg: Node) -> Node:
    """A cast by way of float32, of which only the needed steps remain."""
    source = node.args[0].dtype
    if source in HALVES:
        arg = map_node(f"{source}_value", [arg], where=node.where)
    if node.dtype in HALVES:
        arg = map_node("cast", [arg], "float32", node.where)
        return map_node(f"{node.dtype}_bits", [arg], where=node.where)
    return map_node("cast", [arg], node.dtype, node.where)
