"""The statements of a schedule and its memory as plain data, with their own names of dimensions."""

from __future__ import annotations

from collections.abc import Sequence

from ostinato.certificate.order import Loop, Moment, Read, Step
from ostinato.certificate.plan_memory import Fill, Layout, Memory, Slot, Tensor, Timeline
from ostinato.pdg.index import Dim, Expr
from ostinato.pdg.text.spelling import (
    Plain,
    Spelling,
    Unreadable,
    fields,
    items,
    mapping,
    natural,
    text,
    truth,
)


def timeline_data(found: Timeline) -> Plain:
    """The statements and the memory of a schedule as plain data."""
    names, memory = Spelling(), found.memory
    steps: list[Plain] = [_step_data(step, names) for step in found.steps]
    barriers: list[Plain] = [_time_data(time, names) for time in memory.barriers]
    fills: list[Plain] = [
        {
            "of": fill.of,
            "loops": _loops_data(fill.loops, names),
            "time": _time_data(fill.time, names),
            "call": fill.call,
            "cut": _cut_data(fill.cut, names),
        }
        for fill in memory.fills
    ]
    tensors: list[Plain] = [_tensor_data(tensor, names) for tensor in memory.tensors]
    return {
        "dims": names.dims(),
        "steps": steps,
        "barriers": barriers,
        "fills": fills,
        "tensors": tensors,
        "given": list(memory.given),
        "kept": list(memory.kept),
    }


def _step_data(step: Step, names: Spelling) -> Plain:
    reads: list[Plain] = [_read_data(read, names) for read in step.reads]
    moves: list[Plain] = [_read_data(read, names) for read in step.moves]
    return {
        "name": step.name,
        "dims": [names.name(d) for d in step.dims],
        "folded": [names.name(d) for d in step.folded],
        "loops": _loops_data(step.loops, names),
        "time": _time_data(step.time, names),
        "call": step.call,
        "axes": [names.name(d) for d in step.axes],
        "inner": [names.name(d) for d in step.inner],
        "reads": reads,
        "moves": moves,
        "cut": _cut_data(step.cut, names),
    }


def _cut_data(cut: Expr | None, names: Spelling) -> Plain:
    return None if cut is None else names.expr(cut)


def _read_data(read: Read, names: Spelling) -> Plain:
    return {
        "of": read.of,
        "at": names.exprs(read.at),
        "axes": names.exprs(read.axes),
        "when": names.cond(read.when),
        "ranges": [[names.name(d), names.expr(size)] for d, size in read.ranges],
    }


def _loops_data(loops: Sequence[Loop], names: Spelling) -> list[Plain]:
    return [
        {
            "dim": names.name(loop.dim),
            "from": names.expr(loop.lo),
            "to": names.expr(loop.hi),
            "reverse": loop.reverse,
            "parallel": loop.parallel,
        }
        for loop in loops
    ]


def _time_data(time: Sequence[Moment], names: Spelling) -> list[Plain]:
    return [names.name(t) if isinstance(t, Dim) else t for t in time]


def _tensor_data(tensor: Tensor, names: Spelling) -> Plain:
    slots: list[Plain] = [
        {"dim": names.name(slot.dim), "kind": slot.kind, "extent": names.expr(slot.extent)}
        for slot in tensor.slots
    ]
    return {
        "name": tensor.name,
        "of": tensor.of,
        "place": tensor.place,
        "slots": slots,
        "axes": names.exprs(tensor.axes),
        "item": tensor.item,
        "shares": tensor.shares,
    }


def layouts_data(layouts: Sequence[Layout]) -> Plain:
    """Arenas as plain data."""
    return [
        {
            "extents": dict(layout.extents),
            "offsets": dict(layout.offsets),
            "stride": layout.stride,
            "total": layout.total,
        }
        for layout in layouts
    ]


def read_timeline(data: Plain) -> Timeline:
    """The statements and the memory that `timeline_data` writes.

    Errors: Unreadable.
    """
    what = "the order"
    dims, steps, barriers, fills, tensors, given, kept = fields(
        data, what, "dims", "steps", "barriers", "fills", "tensors", "given", "kept"
    )
    names = Spelling.read_dims(dims)
    memory = Memory(
        tuple(_read_barrier(time, names) for time in items(barriers, "the barriers")),
        tuple(_read_fill(fill, names) for fill in items(fills, "the fills")),
        tuple(_read_tensor(tensor, names) for tensor in items(tensors, "the tensors")),
        tuple(text(name, what) for name in items(given, what)),
        tuple(text(name, what) for name in items(kept, what)),
    )
    return Timeline(tuple(_read_step(step, names) for step in items(steps, "the steps")), memory)


def read_layouts(data: Plain) -> tuple[Layout, ...]:
    """The arenas that `layouts_data` writes.

    Errors: Unreadable.
    """
    return tuple(_read_layout(layout) for layout in items(data, "the layouts"))


def _read_layout(data: Plain) -> Layout:
    what = "a layout"
    extents, offsets, stride, total = fields(data, what, "extents", "offsets", "stride", "total")
    return Layout(
        mapping(extents, what, natural),
        mapping(offsets, what, natural),
        natural(stride, what),
        natural(total, what),
    )


def _read_step(data: Plain, names: Spelling) -> Step:
    names_of = "name dims folded loops time call axes inner reads moves cut".split()
    name, dims, folded, loops, time, call, axes, inner, reads, moves, cut = fields(
        data, "a step", *names_of
    )
    what = f"the step `{text(name, 'a step')}`"
    return Step(
        text(name, what),
        _dims(dims, names, what),
        _dims(folded, names, what),
        tuple(_read_loop(loop, names, what) for loop in items(loops, what)),
        _read_time(time, names, what),
        natural(call, what),
        _dims(axes, names, what),
        _dims(inner, names, what),
        tuple(_read_read(read, names, what) for read in items(reads, what)),
        tuple(_read_read(read, names, what) for read in items(moves, what)),
        None if cut is None else names.read_expr(cut, what),
    )


def _read_time(data: Plain, names: Spelling, what: str) -> tuple[Moment, ...]:
    return tuple(
        names.dim(t, what) if isinstance(t, str) else natural(t, what) for t in items(data, what)
    )


def _read_barrier(data: Plain, names: Spelling) -> tuple[Moment, ...]:
    time = _read_time(data, names, "a barrier")
    if not time or isinstance(time[-1], Dim):
        raise Unreadable("a barrier has no place")
    return time


def _read_fill(data: Plain, names: Spelling) -> Fill:
    of, loops, time, call, cut = fields(data, "a fill", "of", "loops", "time", "call", "cut")
    what = f"the fill of `{text(of, 'a fill')}`"
    return Fill(
        text(of, what),
        tuple(_read_loop(loop, names, what) for loop in items(loops, what)),
        _read_time(time, names, what),
        natural(call, what),
        None if cut is None else names.read_expr(cut, what),
    )


def _read_tensor(data: Plain, names: Spelling) -> Tensor:
    name, of, place, slots, axes, item, shares = fields(
        data, "a tensor", "name", "of", "place", "slots", "axes", "item", "shares"
    )
    what = f"the tensor `{text(name, 'a tensor')}`"
    return Tensor(
        text(name, what),
        text(of, what),
        text(place, what),
        tuple(_read_slot(slot, names, what) for slot in items(slots, what)),
        names.read_exprs(axes, what),
        natural(item, what),
        text(shares, what),
    )


def _read_slot(data: Plain, names: Spelling, what: str) -> Slot:
    dim, kind, extent = fields(data, what, "dim", "kind", "extent")
    return Slot(names.dim(dim, what), text(kind, what), names.read_expr(extent, what))


def _dims(data: Plain, names: Spelling, what: str) -> tuple[Dim, ...]:
    return tuple(names.dim(d, what) for d in items(data, what))


def _read_loop(data: Plain, names: Spelling, what: str) -> Loop:
    dim, lo, hi, reverse, parallel = fields(data, what, "dim", "from", "to", "reverse", "parallel")
    bounds = names.read_expr(lo, what), names.read_expr(hi, what)
    return Loop(names.dim(dim, what), *bounds, truth(reverse, what), truth(parallel, what))


def _read_read(data: Plain, names: Spelling, what: str) -> Read:
    of, at, axes, when, ranges = fields(data, what, "of", "at", "axes", "when", "ranges")
    found: list[tuple[Dim, Expr]] = []
    for entry in items(ranges, what):
        pair = items(entry, what)
        if len(pair) != 2:
            raise Unreadable(f"{what} has the range {pair!r}")
        found.append((names.dim(pair[0], what), names.read_expr(pair[1], what)))
    return Read(
        text(of, what),
        names.read_exprs(at, what),
        names.read_exprs(axes, what),
        names.read_cond(when, what),
        tuple(found),
    )
