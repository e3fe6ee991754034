"""Which remarks belong to a program: those about nothing that the program lacks."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from ostinato.language.definition import Definition, Remark
from ostinato.pdg.node import PURE, Host, Input, Node, Rec, postorder


def reached(roots: Iterable[Node], found: Mapping[str, Definition]) -> set[Node]:
    """Every node that roots need, through the equations of recurrent tensors."""
    out: set[Node] = set()
    todo: list[Node] = list(roots)
    while todo:
        fresh = [node for node in postorder(tuple(todo)) if node not in out]
        out.update(fresh)
        known = [found[n.op.name] for n in fresh if isinstance(n.op, Rec) and n.op.name in found]
        rights = [right for d in known for _, right in d.cases]
        todo = [right for right in rights if right not in out]
    return out


def subjects(nodes: Iterable[Node]) -> set[Node]:
    """What a remark is about: inputs, recurrent tensors, and calls with effects."""
    return {
        n
        for n in nodes
        if isinstance(n.op, Input | Rec) or (isinstance(n.op, Host) and n.op.effects != PURE)
    }


def belonging(roots: Sequence[Node], found: Mapping[str, Definition]) -> list[Remark]:
    """The remarks about what roots need, in the order in which they were made."""
    known = subjects(reached(roots, found))
    remarks = {r.number: r for d in found.values() for r in d.remarks}
    out: list[Remark] = []
    for _, remark in sorted(remarks.items()):
        about = subjects(reached((remark.node,), found))
        own = {remark.node} if remark.kind == "call" else set[Node]()
        if about - own <= known:
            known |= own
            out.append(remark)
    return out


def left_out(notes: Sequence[Remark], is_checked: bool) -> list[str]:
    """What a compiled program does not do, one sentence per kind."""
    out: list[str] = []
    remedies = {"print": "use program.interpret", "check": "use compile(checks=True)"}
    for kind, remedy in remedies.items():
        places = [n.where for n in notes if n.kind == kind]
        if places and not (is_checked and kind == "check"):
            several = f"{kind}s" if len(places) > 1 else kind
            out.append(f"compiled without the {several} at {', '.join(places)}: {remedy}")
    return out
