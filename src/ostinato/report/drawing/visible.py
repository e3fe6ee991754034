"""What a user wrote of a program: all of it but what only orders calls."""

from __future__ import annotations

from ostinato.pdg.effects import AFTER
from ostinato.pdg.node import PURE, Host, Node, Pdg


def operands(node: Node) -> tuple[Node, ...]:
    """The operands of a node but for what only orders a call."""
    ordered = isinstance(node.op, Host) and node.op.effects != PURE
    return node.args[1:] if ordered else node.args


def roots(pdg: Pdg) -> tuple[Node, ...]:
    """Results, right sides of the user's equations, and calls with effects."""
    rights = [n for name, eq in pdg.equations.items() for _, n in eq.cases
              if not name.startswith(AFTER)]  # fmt: skip
    calls = [n for n in pdg.nodes() if isinstance(n.op, Host) and n.op.effects != PURE]
    return (*(n for _, n in pdg.results), *rights, *calls)


def visible(pdg: Pdg) -> tuple[Node, ...]:
    """Every node that a user wrote, operands first."""
    done: dict[Node, None] = {}
    stack = [(root, False) for root in reversed(roots(pdg))]
    while stack:
        node, ready = stack.pop()
        if node in done:
            continue
        if ready:
            done[node] = None
        else:
            stack.append((node, True))
            stack += [(arg, False) for arg in reversed(operands(node))]
    return tuple(done)
