"""A plan that keeps less: what later loops read is computed again, or kept in 16 bits.

What is cheapest per byte comes first, and only as much of it as a limit of memory asks for. Values
computed again are the same values; 16 bits round them, so a user must have allowed that.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
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
from ostinato.codegen.planning.retimed import retimed
from ostinato.codegen.planning.segmented_plan import Search, told
from ostinato.codegen.planning.step_by_step import step_by_step
from ostinato.codegen.systems.value_numbering import joined
from ostinato.machine.profile import TYPICAL_EXTENT
from ostinato.pdg.errors import CycleError
from ostinato.pdg.node import Dtype
from ostinato.runtime.machine_code.arena_layout import Layout

CHEAP = 1.1  # times the time of the usual plan: no other way to keep less is looked for


@dataclass(frozen=True)
class Room:
    """Bytes that an arena may take (0: any number) at some extents, for some workers.

    ``half`` is the type of 16 bits that kept values may have, if any. ``ns_of`` predicts what a
    plan takes at some extents. With ``spills`` histories that do not fit lie in a file.
    """

    limit: int
    hints: Mapping[str, int]
    workers_of: Callable[[Plan, Mapping[str, int]], int]
    half: Dtype | None = None
    ns_of: Callable[[Plan, Mapping[str, int]], float] = lambda planned, extents: 0.0
    spills: bool = False

    def extents(self, planned: Plan) -> dict[str, int]:
        return {name: self.hints.get(name, TYPICAL_EXTENT) for name in planned.extents}

    def layout(self, planned: Plan) -> Layout:
        extents = self.extents(planned)
        most = self.limit if self.spills else 0
        return layout(planned, extents, self.workers_of(planned, extents), most)

    def bytes_of(self, planned: Plan) -> int:
        return self.layout(planned).peak_bytes

    def file_bytes(self, planned: Plan) -> int:
        found = self.layout(planned)
        return found.total_bytes - found.memory_bytes

    def ns(self, planned: Plan) -> float:
        """The time of a plan, in which what lies in a file goes there and comes back."""
        found = self.layout(planned)
        moved = 2 * (found.total_bytes - found.memory_bytes) + found.moves.again_bytes
        return self.ns_of(planned, self.extents(planned)) + moved * planned.target.link_ns

    def rank(self, planned: Plan) -> tuple[float, float]:
        """What is best comes first: of plans that fit the fastest, of others the smallest."""
        taken = self.bytes_of(planned)
        return (0.0, self.ns(planned)) if taken <= self.limit else (1.0, float(taken))

    def holds(self, planned: Plan) -> bool:
        return not self.limit or self.bytes_of(planned) <= self.limit


def fitted(system: System, options: PlanOptions, room: Room) -> Plan:
    """Return the plan of a system, changed as little as the room asks for.

    If nothing makes it fit, the smallest plan that was found.
    """
    usual = plan(system, options)
    is_in_memory = room.limit and room.holds(usual) and not room.file_bytes(usual)
    if is_in_memory or not (room.limit or room.half):
        return usual
    system = joined(system, usual.same)
    changed = options.passes.optional(
        "computing again", usual, _lighter, system, usual, options, room
    )
    is_cheap = room.ns(changed) <= CHEAP * room.ns(usual)
    if not room.limit or (room.holds(changed) and is_cheap):
        return changed
    best = min(usual, changed, key=room.rank)
    best = options.passes.optional(
        "late readers", best, _with_late_readers, best, system, usual, options, room
    )
    if room.holds(best) and room.ns(best) <= CHEAP * room.ns(usual):
        return best
    return options.passes.optional(
        "segments", best, _in_segments, best, system, usual, options, room
    )


def _lighter(system: System, usual: Plan, options: PlanOptions, room: Room) -> Plan:
    """The plan with as few values computed again, or in 16 bits, as fit; else the smallest."""
    extents = room.extents(usual)
    found = kept(usual, extents, room.workers_of(usual, extents))
    ways = _ways(system, found, room)
    most = _changed(system, found, ways, options)
    if not room.limit or not room.holds(most):
        return most
    few, many = 0, len(ways)
    while many - few > 1:
        middle = (few + many) // 2
        tried = _changed(system, found, dict(list(ways.items())[:middle]), options)
        if room.holds(tried):
            most, many = tried, middle
        else:
            few = middle
    return most


def _with_late_readers(
    best: Plan, system: System, usual: Plan, options: PlanOptions, room: Room
) -> Plan:
    """The best plan, or a better one in which what looks ahead runs later, in the same loop."""
    extents = room.extents(usual)
    found = kept(usual, extents, room.workers_of(usual, extents))
    plans = [best]
    for dim in sorted({d for k in found for d in k.dims}, key=lambda d: d.serial):
        with suppress(Unavailable, CycleError):
            made = retimed(system, dim, options.exact)
            line = f"what looks ahead runs {made.steps} steps of `{dim}` later, in the same loop"
            late = plan(made.system, options)
            tried = (
                [late] if room.holds(late) else [late, _lighter(made.system, late, options, room)]
            )
            changed = (replace(each, changes=(line, *each.changes)) for each in tried)
            plans += [_based(each, made.origins) for each in changed]
    return min(plans, key=room.rank)


def _in_segments(best: Plan, system: System, usual: Plan, options: PlanOptions, room: Room) -> Plan:
    """The best plan, or a better one that computes values again in segments.

    If none fits, sums over all steps are taken step by step too, where that may round otherwise.
    """
    found = [best, *_segmented(system, usual, options, room)]
    if not options.exact and not any(map(room.holds, found)):
        found += _summed(system, usual, options, room)
    return min(found, key=room.rank)


def _summed(system: System, usual: Plan, options: PlanOptions, room: Room) -> list[Plan]:
    """Plans that take sums over all steps step by step, if there are any, also in segments."""
    dims = {d for s in system.statements.values() for d in s.dims} - usual.tiles.keys()
    summed = system
    for dim in sorted(dims, key=lambda d: d.serial):
        summed = step_by_step(summed, dim)
    if summed.statements == system.statements:
        return []
    line, found = "sums over all steps are taken step by step", list[Plan]()
    new = {n: s for n, s in summed.statements.items() if n not in system.statements}
    origins = {n: next(x.tensor for x in s.reads) for n, s in new.items()}
    with suppress(CycleError):
        other = plan(summed, replace(options, widths={**options.widths, **_widths(usual)}))
        for each in (other, *_segmented(summed, other, options, room)):
            found.append(replace(_based(each, origins), changes=(line, *each.changes)))
    return found


def _segmented(system: System, usual: Plan, options: PlanOptions, room: Room) -> list[Plan]:
    """The plan that computes least again in segments, and one with more computed again in these."""
    extents = room.extents(usual)
    workers = room.workers_of(usual, extents)
    options = replace(options, widths={**options.widths, **_widths(usual)})
    search = Search(system, usual, options, extents, workers, room.rank, room.bytes_of, room.limit)
    made = search.fitting()
    if made is None:
        return []
    line = told(made, search.steps, [_name(system.statements[n]) for n in made.wanted])
    plans = [replace(made.plan, changes=(line,))]
    if not room.holds(made.plan):
        lighter = _lighter(made.system, made.plan, options, room)
        plans.append(replace(lighter, changes=(line, *lighter.changes)))
    return [_based(each, made.origins) for each in plans]


def _based(planned: Plan, origins: Mapping[str, str]) -> Plan:
    """The plan whose statements name what they stand for in the system that was given."""
    of = {n: origins.get(s.lowered, s.lowered) for n, s in planned.statements.items()}
    based = {n: replace(s, base=of[n]) for n, s in planned.statements.items() if of[n] != n}
    return replace(planned, statements=planned.statements | based)


def _widths(usual: Plan) -> dict[str, int]:
    """The widths of the tiles of a plan: sums of other tiles would round otherwise."""
    inner = {pieces[-1]: dim for dim, pieces in usual.tiles.items()}
    axes = (axis for s in usual.statements.values() for axis in s.axes)
    return {inner[a.index].name: a.pad.as_int() for a in axes if a.index in inner}


def _changed(system: System, found: Sequence[Kept], ways: Ways, options: PlanOptions) -> Plan:
    lines = tuple(_told(system.statements[name], way) for name, way in ways.items())
    return replace(plan(again(system, found, ways), options), changes=lines)


def _name(s: Statement) -> str:
    return f"{s.label or s.name} ({s.where})" if s.where else s.label or s.name


def _told(s: Statement, way: Way) -> str:
    name = _name(s)
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
