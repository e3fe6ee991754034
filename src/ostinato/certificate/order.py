"""A schedule as data, and the proof of its order: every value is computed before it is read.

A *step* is one statement of the plan: the loops around it, its place in time (places among siblings
and loops in turn, as they nest), and what it reads. The check knows nothing of how the plan was
found. isl shows for every read, for all extents, that the points it needs come earlier, and that
loops whose iterations run at once are not what brings them there.

What it says of waiting and of memory (barriers, slots, places in the arena) is checked by
`ostinato.certificate.slots` and `ostinato.certificate.arena_proof`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from ostinato.pdg import isl
from ostinato.pdg.condition import ALWAYS, Cond, at_least, every, negation
from ostinato.pdg.index import Dim, Expr, expr
from ostinato.pdg.intervals import is_quasi_affine
from ostinato.pdg.isl import LowerBounds, Relation, Set
from ostinato.runtime.machine_code.arena_layout import Part

Moment = int | Dim  # a place among siblings, or the loop at that place


def places_in(time: Iterable[Moment]) -> tuple[int, ...]:
    """The places in a time, in order: loops stand between the same ones."""
    return tuple(t for t in time if not isinstance(t, Dim))


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
    """A read of another step, where ``when`` holds: its position along each dimension and axis.

    ``ranges`` are the further indices that positions and condition mention.
    """

    of: str
    at: tuple[Expr, ...]
    axes: tuple[Expr, ...]
    when: Cond
    ranges: tuple[tuple[Dim, Expr], ...]


@dataclass(frozen=True, slots=True)
class Step:
    """A statement: its loops from outside inwards, its time, folded dimensions, and reads.

    The first ``call`` parts of the time say which call of a kernel computes it: loops that come
    next, with no place between, and are parallel are shared out among the workers, all else is left
    to the first one.
    ``axes`` are those of what is computed at one point. Statements whose times differ only at the
    last place run in turns, at every position of the axes ``inner``. ``moves`` are reads whose
    values are the step's own and lie in its place already: where they hold, nothing is written.
    Nothing is computed where ``asked`` does not hold, nor is anything written that is not
    ``covered`` by a clause.
    Where it is ``cut``, the elements are shared out: the first axis, of so many positions, consists
    of equal parts, as many for all steps that touch the same memory, and a worker computes the same
    ones of each.
    """

    name: str
    dims: tuple[Dim, ...]
    folded: tuple[Dim, ...]
    loops: tuple[Loop, ...]
    time: tuple[Moment, ...]
    call: int
    axes: tuple[Dim, ...]
    inner: tuple[Dim, ...]
    reads: tuple[Read, ...]
    moves: tuple[Read, ...] = ()
    cut: Expr | None = None
    asked: Cond = ALWAYS
    covered: Cond = ALWAYS

    @property
    def kept(self) -> tuple[Dim, ...]:
        """The dimensions of what it computes."""
        return tuple(d for d in self.dims if d not in self.folded)


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
    if Counter(loops) != Counter(step.dims):
        raise Misordered(f"`{step.name}` does not have one loop for each of its dimensions")
    if [t for t in step.time if isinstance(t, Dim)] != loops:
        raise Misordered(f"the time of `{step.name}` is not that of its loops")
    if not set(step.folded) <= set(step.dims):
        raise Misordered(f"`{step.name}` folds a dimension that it does not have")
    for loop in step.loops:
        if loop.parallel and loop.dim in step.folded:
            raise Misordered(f"`{step.name}` is folded along the parallel loop `{loop.dim}`")


def _check_read(reader: Step, read: Read, source: Step) -> None:
    about = f"`{reader.name}` reads `{source.name}`"
    needed = needed_points(reader, read, source)
    length = max(len(reader.time), len(source.time))
    later, earlier = _times(reader, length), _times(source, length)
    timed = needed.map_in(later).then(earlier)
    if not timed.is_subset(isl.lex_later(length)):
        raise Misordered(f"{about} before it is computed")
    left_out = isl.condition_set(source.dims, negation(source.asked))
    if source.asked != ALWAYS and not needed.intersect_out(left_out).is_empty():
        raise Misordered(f"{about} where it is not computed")
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


def needed_points(reader: Step, read: Read, source: Step) -> Relation:
    """Points of the reader to all points of the source that it needs."""
    kept = source.kept
    if len(kept) != len(read.at):
        raise Misordered(f"`{reader.name}` reads `{source.name}` at {len(read.at)} positions")
    positions = dict(zip(kept, read.at, strict=True))
    free: dict[Dim, Dim] = {}  # a folded dimension, or a position that isl cannot follow
    for dim in source.dims:
        if dim not in positions or not is_quasi_affine(positions[dim]):
            free[dim] = Dim(dim.name)
    exprs = [expr(free[d]) if d in free else positions[d] for d in source.dims]
    by = dict(zip(source.dims, exprs, strict=True))
    sizes = {loop.dim: loop.hi.at(by) for loop in source.loops}
    within = [(inner, sizes[dim]) for dim, inner in free.items()]
    inside = tuple(pair for pair in read.ranges if is_quasi_affine(pair[1]))
    when = every(reader.asked, read.when)
    raw = isl.relation(reader.dims, source.dims, exprs, when, [*within, *inside])
    return raw.intersect_in(box_of(reader)).intersect_out(box_of(source)).assume(_LEAST)


_LEAST: LowerBounds = {}


def box_of(step: Step) -> Set:
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


SLOTS = ("full", "circular", "one")
PLACES = ("global", "local", "register")


@dataclass(frozen=True, slots=True)
class Fill:
    """Where the accumulator of a fold is set to its unit: loops to cut as of a `Step`."""

    of: str
    loops: tuple[Loop, ...]
    time: tuple[Moment, ...]
    call: int
    cut: Expr | None = None


@dataclass(frozen=True, slots=True)
class Slot:
    """How many points of a dimension are stored: all, the last ``extent`` ones, or one."""

    dim: Dim
    kind: str
    extent: Expr


@dataclass(frozen=True, slots=True)
class Tensor:
    """Where the values of a statement live.

    ``axes`` are the sizes of the array at one point, ``item`` the bytes of an element. ``of`` is
    the statement that writes it: scratch memory has another name than its statement. Inputs have no
    statement. What ``shares`` the place of another tensor has none of its own.
    """

    name: str
    of: str
    place: str
    slots: tuple[Slot, ...]
    axes: tuple[Expr, ...]
    item: int
    shares: str = ""

    @property
    def owner(self) -> str:
        """The tensor in whose memory it lies."""
        return self.shares or self.name


@dataclass(frozen=True, slots=True)
class Passage:
    """The transfers of a history in a call of a kernel, which begins at a time.

    If that ends with a loop of the driver, they are those of all calls in the loop, of one worker.
    ``copies`` calls run at once. The history has so many ``steps``, along a ``slot`` or if that is
    -1 one, which is all of it, in blocks of ``count``, and memory for ``blocks`` of them. A block
    has so many ``rows``, along one slot before. ``places`` are those of the trees of the kernel
    that visit it.
    """

    tensor: str
    call: tuple[Moment, ...]
    places: tuple[int, ...]
    copies: int
    slot: int
    rows: int
    steps: int
    step_bytes: int
    count: int
    blocks: int
    parts: tuple[Part, ...]


@dataclass(frozen=True, slots=True)
class Layout:
    """The arena at given extents: offsets in bytes; what is local is that of the first worker.

    Each further worker has its part ``stride`` bytes behind that of the one before. What lies
    behind the first ``memory`` bytes is in a file, of which ``room`` bytes are in memory at once,
    with the ``passages`` of histories.
    """

    extents: Mapping[str, int]
    offsets: Mapping[str, int]
    stride: int
    total: int
    memory: int = 0
    room: int = 0
    passages: tuple[Passage, ...] = ()


@dataclass(frozen=True, slots=True)
class Memory:
    """Times at which all workers wait for each other, accumulators, and places of tensors.

    ``given`` are filled before the run, ``kept`` are read when it has ended.
    """

    barriers: tuple[tuple[Moment, ...], ...]
    fills: tuple[Fill, ...]
    tensors: tuple[Tensor, ...]
    given: tuple[str, ...]
    kept: tuple[str, ...]


@dataclass(frozen=True)
class Timeline:
    """The statements of a schedule in their order, and its memory."""

    steps: tuple[Step, ...]
    memory: Memory
