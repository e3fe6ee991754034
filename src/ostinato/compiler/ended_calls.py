"""Calls of Python end with the dimensions that they are over: beyond the end no function runs.

Masks such as "the episode goes on" are the last operands of a call. Where one is false for all
rows that the call is for, the function is left alone, and what it would have returned is 0.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from ostinato.language.ragged.ending import Ending, steps_of
from ostinato.pdg import build
from ostinato.pdg.host_functions import HostFunction
from ostinato.pdg.node import Host, Node, postorder
from ostinato.pdg.replace import rebuild


def ended(
    moved: Mapping[Node, Node], hosts: Mapping[int, HostFunction]
) -> tuple[dict[Node, Node], dict[int, HostFunction]]:
    """Nodes of a program, and its functions, with the masks of the calls.

    ``moved`` gives for nodes as they were written those of the program.
    """
    calls = [n for n in postorder(tuple(moved.values())) if isinstance(n.op, Host)]
    ends = [end for end in _endings(calls) if end.alive.node in moved]
    masks: dict[Node, list[Node]] = {}
    functions = dict(hosts)
    for call in calls if ends else ():
        number = call.op.call if isinstance(call.op, Host) else 0
        over = functions[number].over
        masks[call] = [
            build.read(moved[end.alive.node], [(d, d.whole) for d in over if d in end.outer])
            for end in ends
            if end.dim in call.domain and end.dims <= {*call.domain, *over}
        ]
        functions[number] = replace(functions[number], masks=len(masks[call]))

    def changed(node: Node, args: tuple[Node, ...]) -> Node | None:
        if not masks.get(node) or not isinstance(node.op, Host):
            return None
        return build.host(replace(node.op, masks=len(masks[node])), (*args, *masks[node]), node)

    found = rebuild(list(moved.values()), changed)
    return {node: found[made] for node, made in moved.items()}, functions


def _endings(calls: Iterable[Node]) -> list[Ending]:
    """The ends of dimensions that calls are over."""
    dims = dict.fromkeys(d for call in calls for d in call.domain if d.remarks)
    return [end for d in dims if (end := steps_of(d).ending) is not None]
