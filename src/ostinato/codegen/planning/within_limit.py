"""A plan that keeps less: what later loops read is computed again, or kept in 16 bits.

What is cheapest per byte comes first, and only as much of it as a limit of memory asks for. Values
computed again are the same values; 16 bits round them, so a user must have allowed that.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from ostinato.codegen.ir.extents import Sizes
from ostinato.codegen.ir.system import Statement, System
from ostinato.codegen.planning.arena import layout
from ostinato.codegen.planning.long_lived import Kept, kept
from ostinato.codegen.planning.plan import Plan, PlanOptions, plan
from ostinato.codegen.planning.rematerialise import (
    Unavailable,
    Way,
    Ways,
    added_ns,
    again,
    is_read_by_step,
)
from ostinato.codegen.systems.value_numbering import joined
from ostinato.machine.profile import TYPICAL_EXTENT
from ostinato.pdg.node import Dtype


@dataclass(frozen=True)
class Room:
    """Bytes that an arena may take (0: any number) at some extents, for some workers.

    ``half`` is the type of 16 bits that kept values may have, if any.
    """

    limit: int
    hints: Mapping[str, int]
    workers_of: Callable[[Plan, Mapping[str, int]], int]
    half: Dtype | None = None

    def extents(self, planned: Plan) -> dict[str, int]:
        return {name: self.hints.get(name, TYPICAL_EXTENT) for name in planned.extents}

    def bytes_of(self, planned: Plan) -> int:
        extents = self.extents(planned)
        return layout(planned, extents, self.workers_of(planned, extents)).total_bytes

    def holds(self, planned: Plan) -> bool:
        return not self.limit or self.bytes_of(planned) <= self.limit


def fitted(system: System, options: PlanOptions, room: Room) -> Plan:
    """Return the plan of a system, changed as little as the room asks for.

    If nothing makes it fit, the smallest plan that was found.
    """
    usual = plan(system, options)
    if room.limit and room.holds(usual):
        return usual
    if "computing again" in options.passes.without or not (room.limit or room.half):
        return usual
    system = joined(system, usual.same)
    extents = room.extents(usual)
    found = kept(usual, extents, room.workers_of(usual, extents))
    ways = _ways(system, found, room)
    if not room.limit:
        return _changed(system, found, ways, options)
    most = _changed(system, found, ways, options)
    if not room.holds(most):
        return min(usual, most, key=room.bytes_of)
    few, many = 0, len(ways)
    while many - few > 1:
        middle = (few + many) // 2
        tried = _changed(system, found, dict(list(ways.items())[:middle]), options)
        if room.holds(tried):
            most, many = tried, middle
        else:
            few = middle
    return most


def _changed(system: System, found: Sequence[Kept], ways: Ways, options: PlanOptions) -> Plan:
    lines = tuple(_told(system.statements[name], way) for name, way in ways.items())
    changed = options.passes.made("computing again", again(system, found, ways))
    return replace(plan(changed, options), changes=lines)


def _told(s: Statement, way: Way) -> str:
    name = f"{s.label or s.name} ({s.where})"
    again = "is computed again for later loops"
    return f"{name} {again if way == 'again' else f'is kept as {way}'}"


def _ways(system: System, found: Sequence[Kept], room: Room) -> dict[str, Way]:
    """What to change, the cheapest per byte first; values again before values in 16 bits."""
    found = [k for k in found if is_read_by_step(system, k)]
    priced = sorted(_prices(system, found, room)) if room.limit else []
    wanted: list[tuple[str, Way]] = []
    for _, name in priced:
        wanted.append((name, "again"))
    if room.half is not None:
        for k in found:
            if system.statements[k.tensor].dtype == "float32":
                wanted.append((k.tensor, room.half))
    ways: dict[str, Way] = {}
    for name, way in wanted:
        if name not in ways and _changes(system, found, {**ways, name: way}) is not None:
            ways[name] = way
    return ways


def _prices(system: System, found: Sequence[Kept], room: Room) -> Iterator[tuple[float, str]]:
    """What computing a value again takes per byte, where that is possible."""
    sizes = Sizes(system.statements, room.hints)
    for k in found:
        changed = _changes(system, found, {k.tensor: "again"})
        if changed is not None:
            yield added_ns(system, changed, sizes) / k.bytes, k.tensor


def _changes(system: System, found: Sequence[Kept], ways: Ways) -> System | None:
    """The changed system; None if a value cannot be had in its way."""
    try:
        return again(system, found, ways)
    except Unavailable:
        return None
