"""The order of a schedule as data, and its proof: every value is computed before it is read.

A *step* is one statement of the plan: the loops around it, its place in time (places among siblings
and loops in turn, as they nest), and what it reads. The check knows nothing of how the plan was
found. isl shows for every read, for all extents, that the points it needs come earlier, and that
loops whose iterations run at once are not what brings them there.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ostinato.pdg import isl
from ostinato.pdg.condition import ALWAYS, Cond, at_least, every
from ostinato.pdg.index import Dim, Expr, expr, is_quasi_affine, substitute
from ostinato.pdg.isl import LowerBounds, Relation, Set
from ostinato.pdg.spelling import (
    Plain,
    Spelling,
    Unreadable,
    fields,
    items,
    natural,
    text,
    truth,
)


@dataclass(frozen=True, slots=True)
class Loop:
    """The values ``lo <= dim < hi`` in turn, from the last one if ``reverse``."""

    dim: Dim
    lo: Expr
    hi: Expr
    reverse: bool
    parallel: bool


@dataclass(frozen=True, slots=True)
class Read:
    """A read of another step, where ``when`` holds: its position along each dimension.

    ``ranges`` are the further indices that positions and condition mention.
    """

    of: str
    at: tuple[Expr, ...]
    when: Cond
    ranges: tuple[tuple[Dim, Expr], ...]


@dataclass(frozen=True, slots=True)
class Step:
    """A statement: its loops from outside inwards, its time, folded dimensions, and reads."""

    name: str
    dims: tuple[Dim, ...]
    folded: tuple[Dim, ...]
    loops: tuple[Loop, ...]
    time: tuple[int | Dim, ...]
    reads: tuple[Read, ...]


class Misordered(Exception):
    """A read comes before what it reads; the text names both."""


def check_order(steps: Sequence[Step]) -> str:
    """Prove the order of a schedule.

    Errors: Misordered.
    """
    known = {step.name: step for step in steps}
    if len(known) < len(steps):
        raise Misordered("a statement stands twice in the schedule")
    for step in steps:
        _check_form(step)
    count = 0
    for step in steps:
        for read in step.reads:
            source = known.get(read.of)
            if source is not None:
                _check_read(step, read, source)
                count += 1
    return f"{count} reads of {len(steps)} statements after what they read"


def _check_form(step: Step) -> None:
    """Loops, dimensions and time say the same, and no fold runs along a parallel loop."""
    loops = [loop.dim for loop in step.loops]
    if sorted(loops, key=_serial) != sorted(step.dims, key=_serial):
        raise Misordered(f"`{step.name}` does not have one loop for each of its dimensions")
    if [t for t in step.time if isinstance(t, Dim)] != loops:
        raise Misordered(f"the time of `{step.name}` is not that of its loops")
    if not set(step.folded) <= set(step.dims):
        raise Misordered(f"`{step.name}` folds a dimension that it does not have")
    for loop in step.loops:
        if loop.parallel and loop.dim in step.folded:
            raise Misordered(f"`{step.name}` is folded along the parallel loop `{loop.dim}`")


def _serial(dim: Dim) -> int:
    return dim.serial


def _check_read(reader: Step, read: Read, source: Step) -> None:
    about = f"`{reader.name}` reads `{source.name}`"
    needed = _needed(reader, read, source)
    length = max(len(reader.time), len(source.time))
    later, earlier = _times(reader, length), _times(source, length)
    timed = needed.map_in(later).then(earlier)
    if not timed.is_subset(isl.lex_later(length)):
        raise Misordered(f"{about} before it is computed")
    for loop in _shared(reader, source):
        if loop.parallel and tuple(needed.distance(loop.dim)) != (0, 0):
            raise Misordered(f"{about} across the parallel loop `{loop.dim}`")
        needed = needed.same(loop.dim)


def _shared(reader: Step, source: Step) -> list[Loop]:
    """The loops around both steps: those at the same places in time."""
    dims: list[Dim] = []
    for a, b in zip(reader.time, source.time, strict=False):
        if a != b:
            break
        if isinstance(a, Dim):
            dims.append(a)
    return list(reader.loops[: len(dims)])


def _needed(reader: Step, read: Read, source: Step) -> Relation:
    """Points of the reader to all points of the source that it needs."""
    kept = [d for d in source.dims if d not in source.folded]
    if len(kept) != len(read.at):
        raise Misordered(f"`{reader.name}` reads `{source.name}` at {len(read.at)} positions")
    positions = dict(zip(kept, read.at, strict=True))
    free: dict[Dim, Dim] = {}  # a folded dimension, or a position that isl cannot follow
    for dim in source.dims:
        if dim not in positions or not is_quasi_affine(positions[dim]):
            free[dim] = Dim(dim.name)
    exprs = [expr(free[d]) if d in free else positions[d] for d in source.dims]
    by = dict(zip(source.dims, exprs, strict=True))
    sizes = {loop.dim: substitute(loop.hi, by) for loop in source.loops}
    within = [(inner, sizes[dim]) for dim, inner in free.items()]
    inside = tuple(pair for pair in read.ranges if is_quasi_affine(pair[1]))
    raw = isl.relation(reader.dims, source.dims, exprs, read.when, [*within, *inside])
    return raw.intersect_in(_box(reader)).intersect_out(_box(source)).assume(_LEAST)


_LEAST: LowerBounds = {}


def _box(step: Step) -> Set:
    """The points of a step."""
    limits: list[Cond] = [ALWAYS]
    for loop in step.loops:
        limits += [at_least(loop.dim, loop.lo), at_least(loop.hi, expr(loop.dim) + 1)]
    return isl.condition_set(step.dims, every(*limits))


def _times(step: Step, length: int) -> Relation:
    """Points to times, which compare in lexicographic order."""
    reverse = {loop.dim for loop in step.loops if loop.reverse}
    exprs = [-expr(t) if isinstance(t, Dim) and t in reverse else expr(t) for t in step.time]
    exprs += [expr(0)] * (length - len(exprs))
    return isl.relation(step.dims, isl.anonymous(length), exprs)


def order_data(steps: Sequence[Step]) -> Plain:
    """The steps as plain data, with their own names of dimensions."""
    names = Spelling()
    table: list[Plain] = [_step_data(step, names) for step in steps]
    return {"dims": names.dims(), "steps": table}


def _step_data(step: Step, names: Spelling) -> Plain:
    loops: list[Plain] = [
        {
            "dim": names.name(loop.dim),
            "from": names.expr(loop.lo),
            "to": names.expr(loop.hi),
            "reverse": loop.reverse,
            "parallel": loop.parallel,
        }
        for loop in step.loops
    ]
    reads: list[Plain] = [
        {
            "of": read.of,
            "at": names.exprs(read.at),
            "when": names.cond(read.when),
            "ranges": [[names.name(d), names.expr(size)] for d, size in read.ranges],
        }
        for read in step.reads
    ]
    return {
        "name": step.name,
        "dims": [names.name(d) for d in step.dims],
        "folded": [names.name(d) for d in step.folded],
        "loops": loops,
        "time": [names.name(t) if isinstance(t, Dim) else t for t in step.time],
        "reads": reads,
    }


def read_order(data: Plain) -> tuple[Step, ...]:
    """The steps that `order_data` writes.

    Errors: Unreadable.
    """
    dims, table = fields(data, "the order", "dims", "steps")
    names = Spelling.read_dims(dims)
    return tuple(_read_step(entry, names) for entry in items(table, "the steps"))


def _read_step(data: Plain, names: Spelling) -> Step:
    name, dims, folded, loops, time, reads = fields(
        data, "a step", "name", "dims", "folded", "loops", "time", "reads"
    )
    what = f"the step `{text(name, 'a step')}`"
    return Step(
        text(name, what),
        _dims(dims, names, what),
        _dims(folded, names, what),
        tuple(_read_loop(loop, names, what) for loop in items(loops, what)),
        tuple(
            names.dim(t, what) if isinstance(t, str) else natural(t, what)
            for t in items(time, what)
        ),
        tuple(_read_read(read, names, what) for read in items(reads, what)),
    )


def _dims(data: Plain, names: Spelling, what: str) -> tuple[Dim, ...]:
    return tuple(names.dim(d, what) for d in items(data, what))


def _read_loop(data: Plain, names: Spelling, what: str) -> Loop:
    dim, lo, hi, reverse, parallel = fields(data, what, "dim", "from", "to", "reverse", "parallel")
    bounds = names.read_expr(lo, what), names.read_expr(hi, what)
    return Loop(names.dim(dim, what), *bounds, truth(reverse, what), truth(parallel, what))


def _read_read(data: Plain, names: Spelling, what: str) -> Read:
    of, at, when, ranges = fields(data, what, "of", "at", "when", "ranges")
    found: list[tuple[Dim, Expr]] = []
    for entry in items(ranges, what):
        pair = items(entry, what)
        if len(pair) != 2:
            raise Unreadable(f"{what} has the range {pair!r}")
        found.append((names.dim(pair[0], what), names.read_expr(pair[1], what)))
    return Read(
        text(of, what), names.read_exprs(at, what), names.read_cond(when, what), tuple(found)
    )
