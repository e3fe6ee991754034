"""Where the values of one program were written, and what they are called there.

A value may be written several times, with a name at each place. A program has one node for it: its
origin is the first place and the first name, with the other names.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace

from ostinato.pdg.node import Node, postorder
from ostinato.pdg.origin import UNKNOWN, Origin, in_loss


def origins(
    roots: Sequence[Node], names: Mapping[Node, str], passed: Collection[Node]
) -> dict[Node, Origin]:
    """The origins of all that roots reach.

    ``names`` are for what has no name of its own; through ``passed`` a derivative passes.
    """
    written: dict[Node, list[Node]] = {}
    for node in sorted(_written(roots), key=lambda node: node.written):
        written.setdefault(node, []).append(node)
    out: dict[Node, Origin] = {}
    for node, found in written.items():
        where = next((x.where for x in found if x.where), "")
        labels: dict[str, Origin] = {}
        for origin in (o for x in found for o in (x.origin, *x.origin.others) if o.label):
            labels.setdefault(origin.label, Origin(origin.where, origin.label))
        if not any(x.label for x in found) and node in names:
            labels[names[node]] = Origin(where, names[node])
        label, *others = labels.values() or (UNKNOWN,)
        out[node] = Origin(in_loss(where) if node in passed else where, label.label, tuple(others))
    return out


def as_first_written(roots: Sequence[Node]) -> dict[Node, Node]:
    """Every node that roots reach, with the first place and name that it was written with."""
    known = origins(roots, {}, ())
    out: dict[Node, Node] = {}
    for node in postorder(tuple(roots)):
        out[node] = replace(node, args=tuple(out[arg] for arg in node.args), origin=known[node])
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
