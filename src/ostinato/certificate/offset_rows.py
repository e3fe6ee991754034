"""Which entries of the offset table a kernel counts from: those of what its call computes.

A kernel is told the number of its first entry. The entries from there on are the tensors in memory
that its statements mention, in the order of the schedule's text: of each statement scratch memory,
what it reads, and itself. Where a mask stands, a loop may end early by it, which mentions the mask
and what it fills before its statements do: from there on the order is left to the runs.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from ostinato.certificate.order import Fill, Memory, Moment, Step, Tensor, Timeline, places_in
from ostinato.codegen.loops.expression import Binary, Constant, Expression, Item, Name
from ostinato.codegen.loops.statements import Function, Let

IN_MEMORY = ("global", "local")


def mentioned(order: Timeline) -> dict[tuple[Moment, ...], tuple[str, ...]]:
    """For the time of every call the tensors in memory that it mentions, first ones first."""
    memory, steps = order.memory, {step.name: step for step in order.steps}
    tensors = {tensor.name: tensor for tensor in memory.tensors}
    beside: dict[str, list[str]] = {}
    for tensor in memory.tensors:
        if tensor.of != tensor.name:
            beside.setdefault(tensor.of, []).append(tensor.name)
    out: dict[tuple[Moment, ...], dict[str, None]] = {}
    for time, call, step in sorted(_events(steps, memory), key=lambda event: places_in(event[0])):
        names = [*beside.get(step.name, ()), *(read.of for read in step.reads), step.name]
        owners = filter(None, (_owner(name, tensors) for name in names))
        out.setdefault(time[:call], {}).update(dict.fromkeys(owners))
    return {time: tuple(found) for time, found in out.items()}


def _events(
    steps: Mapping[str, Step], memory: Memory
) -> Iterator[tuple[tuple[Moment, ...], int, Step]]:
    """Every statement and every fill: its time, how much of that is its call's, the statement."""
    yield from ((step.time, step.call, step) for step in steps.values())
    fills: Sequence[Fill] = memory.fills
    yield from ((fill.time, fill.call, steps[fill.of]) for fill in fills)


def _owner(name: str, tensors: Mapping[str, Tensor]) -> str:
    """The tensor in whose memory one lies, or "" for what lies in registers."""
    if name not in tensors:
        return ""
    owner = tensors[name].owner
    return owner if tensors[owner].place in IN_MEMORY else ""


class Table:
    """The offset table beside a schedule: the tensors of its entries, and what calls mention."""

    def __init__(self, order: Timeline, entries: Sequence[str]) -> None:
        rows = mentioned(order)
        self._rows = [rows[time] for time in sorted(rows, key=places_in)]
        self._entries = tuple(entries)
        self._masks = {tensor.name for tensor in order.memory.tensors if tensor.item == 1}

    def begins(self, call: int, kernel: Function, first: float) -> bool:
        """Whether a kernel that counts from an entry finds what a call mentions, in order."""
        wanted = self._rows[call]
        places = [place for place in map(_place, kernel.body) if place is not None]
        count = 1 + max(places, default=-1)
        found = self._entries[int(first) : int(first) + count]
        sure = next((k for k, name in enumerate(found) if name in self._masks), count)
        is_known = {*found} <= {*wanted} | self._masks
        return len(found) == count and is_known and found[:sure] == wanted[:sure]


def _place(statement: object) -> int | None:
    """The entry that a statement of a kernel's beginning reads, counted from its first one."""
    match statement:
        case Let(_, value):
            return _read(value)
        case _:
            return None


def _read(of: Expression) -> int | None:
    match of:
        case Item(Name("at"), Name("entry")):
            return 0
        case Item(Name("at"), Binary("+", Name("entry"), Constant(int(place)))):
            return place
        case Binary("+", start, _):  # of a local one, that of the worker
            return _read(start)
        case _:
            return None
