"""Replacing nodes inside a graph."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from ostinato.pdg.node import Equation, Node, Pdg, intern, postorder

Replace = Callable[[Node, tuple[Node, ...]], Node | None]


def rebuild(roots: Sequence[Node], change: Replace) -> dict[Node, Node]:
    """Return, for every node that roots reach, the node after replacements.

    ``change`` gets a node and its operands after replacement. What it returns has the domain,
    shape and dtype of the node, so its users keep theirs; with None the node stays as it is.
    """
    out: dict[Node, Node] = {}
    for node in postorder(tuple(roots)):
        args = tuple(out[arg] for arg in node.args)
        found = change(node, args)
        if found is None:
            same = args == node.args
            key = (node.op, args, node.domain, node.shape, node.dtype)
            found = node if same else intern(key, node.origin)
        out[node] = found
    return out


def replaced(pdg: Pdg, change: Replace) -> Pdg:
    """Return a program after replacements: see `rebuild`."""
    return mapped(pdg, rebuild(pdg.roots(), change))


def mapped(pdg: Pdg, out: Mapping[Node, Node], *, with_leaves: bool = False) -> Pdg:
    """Return a program of the nodes that stand for its roots, or also for its recurrences."""
    equations = {
        name: Equation(
            out[eq.rec] if with_leaves else eq.rec,
            tuple((cond, out[right]) for cond, right in eq.cases),
            eq.where,
        )
        for name, eq in pdg.equations.items()
    }
    outputs = tuple((name, out[node]) for name, node in pdg.outputs)
    return replace(pdg, outputs=outputs, equations=equations)
