"""Replacing nodes inside a graph."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ostinato.pdg.node import Node, intern, postorder

Replace = Callable[[Node, tuple[Node, ...]], Node | None]


def rebuild(roots: Sequence[Node], replace: Replace) -> dict[Node, Node]:
    """Return, for every node that roots reach, the node after replacements.

    ``replace`` gets a node and its operands after replacement. What it returns has the domain,
    shape and dtype of the node, so its users keep theirs; with None the node stays as it is.
    """
    out: dict[Node, Node] = {}
    for node in postorder(tuple(roots)):
        args = tuple(out[arg] for arg in node.args)
        found = replace(node, args)
        if found is None:
            same = args == node.args
            key = (node.op, args, node.domain, node.shape, node.dtype)
            found = node if same else intern(key, node.origin)
        out[node] = found
    return out
