"""Replacing nodes inside a graph."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ostinato.pdg.node import Node, intern, postorder


def rebuild(roots: Sequence[Node], replace: Callable[[Node], Node | None]) -> dict[Node, Node]:
    """Return, for every node that roots reach, the node after replacements.

    A replacement has the domain, shape and dtype of what it replaces, so its users keep theirs.
    """
    out: dict[Node, Node] = {}
    for node in postorder(tuple(roots)):
        found = replace(node)
        if found is None:
            args = tuple(out[arg] for arg in node.args)
            same = args == node.args
            key = (node.op, args, node.domain, node.shape, node.dtype)
            found = node if same else intern(key, node.where, node.label)
        out[node] = found
    return out
