"""Where the values of one program were written, and what they are called there.

A value may be written several times, with a name at each place. A program has one node for it, with
the first place and the first name; the table keeps the other names.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from ostinato.pdg.node import Node, postorder
from ostinato.pdg.origin import in_loss


@dataclass(frozen=True)
class Origin:
    """The place and the name of a value in a program, and its other names there."""

    where: str
    label: str
    aliases: tuple[str, ...] = ()


def origins(
    roots: Sequence[Node], names: Mapping[Node, str], passed: Collection[Node]
) -> dict[Node, Origin]:
    """The origins of all that roots reach.

    ``names`` are for what has no name of its own; through ``passed`` a derivative passes.
    """
    places: dict[Node, str] = {}
    labels: dict[Node, dict[str, None]] = {}
    for node in sorted(_written(roots), key=lambda node: node.written):
        if not places.setdefault(node, node.where):
            places[node] = node.where
        known = labels.setdefault(node, {})
        if node.label:
            known[node.label] = None
    out: dict[Node, Origin] = {}
    for node, where in places.items():
        first, *others = labels[node] or (names.get(node, ""),)
        out[node] = Origin(in_loss(where) if node in passed else where, first, tuple(others))
    return out


def as_first_written(roots: Sequence[Node]) -> dict[Node, Node]:
    """Every node that roots reach, with the first place and name that it was written with."""
    known = origins(roots, {}, ())
    out: dict[Node, Node] = {}
    for node in postorder(tuple(roots)):
        args, first = tuple(out[arg] for arg in node.args), known[node]
        out[node] = replace(node, args=args, where=first.where, label=first.label)
    return out


def _written(roots: Sequence[Node]) -> Iterator[Node]:
    """Every node that roots reach, each time that it was written."""
    seen: set[int] = set()  # equal nodes may have been written at several places
    waiting = [*reversed(roots)]
    while waiting:
        node = waiting.pop()
        if id(node) not in seen:
            seen.add(id(node))
            yield node
            waiting.extend(reversed(node.args))
