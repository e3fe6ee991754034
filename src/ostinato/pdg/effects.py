"""The order of host calls that have effects: each call gets the one before it as an operand.

The calls of one channel run as a nest of loops would run them: in order of creation, calls over the
same outer dimensions in one loop over them, and every loop forwards. So a call at a point comes
after the calls created before it at that point, and these after everything at earlier points. The
operand is an int32 number made of the earlier call's result; nobody looks at it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from ostinato.pdg import build
from ostinato.pdg.condition import ALWAYS, at_least
from ostinato.pdg.index import Dim, Expr, expr
from ostinato.pdg.node import PURE, UNSEEN, Equation, Host, Node, Pdg, intern, postorder
from ostinato.pdg.replace import mapped

AFTER = "after."  # begins the names of the recurrences that order calls


@dataclass(eq=False)
class Call:
    """A call and the recurrence that tells that it has run."""

    node: Node
    done: Node

    @property
    def number(self) -> int:
        assert isinstance(self.node.op, Host), f"{self.node} is no call"
        return self.node.op.call


@dataclass(eq=False)
class LoopOfCalls:
    """Calls that share a dimension: all of them at one step, then all at the next."""

    dim: Dim
    body: list[Item] = field(default_factory=list["Item"])


Item = Call | LoopOfCalls


def channels(nodes: Iterable[Node]) -> dict[str, list[Node]]:
    """The calls of each channel in order of creation."""
    found: dict[str, list[tuple[int, Node]]] = {}
    for node in nodes:
        if isinstance(node.op, Host) and node.op.effects != PURE:
            found.setdefault(node.op.effects, []).append((node.op.call, node))
    ordered = {name: sorted(calls, key=lambda c: c[0]) for name, calls in sorted(found.items())}
    return {name: [node for _, node in calls] for name, calls in ordered.items()}


def in_order(
    pdg: Pdg, more: Sequence[Node] = (), beside: Sequence[Node] = ()
) -> tuple[Pdg, tuple[Node, ...]]:
    """The program in which every call with effects waits for the one before it.

    ``more`` are calls without a result, ``beside`` values that are no part of the program: they are
    returned with its calls. The last call of each channel becomes an output that is not shown: all
    calls run everywhere in their box.
    """
    before: dict[Node, Node] = {}
    calls: list[Call] = []
    last: list[tuple[str, Node]] = []
    taken = set(pdg.equations)
    for channel, nodes in channels(postorder((*pdg.roots(), *more))).items():
        nest: list[Item] = []
        for node in nodes:
            call = Call(node, _done(node, taken))
            calls.append(call)
            _place(nest, call, node.domain)
        before.update(_before(nest, build.const(0, "int32")))
        last.append((f"{UNSEEN}{channel}", _last(nest[-1])))
    if not calls:
        return pdg, tuple(beside)
    moved = _wired((*pdg.roots(), *before, *beside), before)
    return _program(pdg, moved, calls, last), tuple(moved[node] for node in beside)


def _done(node: Node, taken: set[str]) -> Node:
    name = base = f"{AFTER}{node.op.fn}" if isinstance(node.op, Host) else ""
    count = 1
    while name in taken:
        count += 1
        name = f"{base}.{count}"
    taken.add(name)
    return build.rec(name, (), "int32", node.domain, node.where)


def _place(items: list[Item], call: Call, dims: Sequence[Dim]) -> None:
    """Append a call to a nest, in the last loop if that has its outermost dimension."""
    for dim in dims:
        tail = items[-1] if items else None
        if not isinstance(tail, LoopOfCalls) or tail.dim != dim:
            tail = LoopOfCalls(dim)
            items.append(tail)
        items = tail.body
    items.append(call)


def _before(items: Sequence[Item], first: Node) -> Iterator[tuple[Node, Node]]:
    """Every call of a run, with the value that tells that what comes before it is done."""
    for item in items:
        if isinstance(item, Call):
            yield item.node, first
        else:
            dim = item.dim
            again = build.read(_last(item.body[-1]), [(dim, expr(dim) - 1)])
            yield from _before(item.body, build.case(at_least(dim, 1), again, first))
        first = _last(item)


def _last(item: Item) -> Node:
    """That all of an item has run, as the last call in its last iteration tells."""
    at: dict[Dim, Expr] = {}
    while isinstance(item, LoopOfCalls):
        at[item.dim] = expr(item.dim.extent) - 1
        item = item.body[-1]
    return build.read(item.done, tuple(at.items()))


def _wired(roots: Sequence[Node], before: Mapping[Node, Node]) -> dict[Node, Node]:
    """Every node with calls that have their first operand."""
    moved: dict[Node, Node] = {}
    for node in postorder((*before.values(), *roots)):
        args = tuple(moved[a] for a in node.args)
        if node in before:
            moved[node] = build.host(_op(node), (moved[before[node]], *args), node)
        elif args == node.args:
            moved[node] = node
        else:
            key = (node.op, args, node.domain, node.shape, node.dtype)
            moved[node] = intern(key, node.origin)
    return moved


def _program(
    pdg: Pdg,
    moved: Mapping[Node, Node],
    calls: Sequence[Call],
    last: Sequence[tuple[str, Node]],
) -> Pdg:
    out = mapped(pdg, moved, with_leaves=True)
    ends = {
        str(call.done): Equation(
            call.done, ((ALWAYS, _number(moved[call.node])),), (call.node.where,)
        )
        for call in calls
    }
    return replace(out, outputs=(*out.outputs, *last), equations={**out.equations, **ends})


def _op(node: Node) -> Host:
    assert isinstance(node.op, Host), f"{node} is no call"
    return node.op


def _number(result: Node) -> Node:
    """An int32 number that exists when the call has run."""
    while result.rank:
        result = build.part(result, 0, expr(0))
    return build.map_node("cast", [result], "int32")
