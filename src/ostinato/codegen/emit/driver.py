"""The driver: what every worker runs, with phases, progress and a way to stop.

All workers go through the same loops. In each phase they claim items until none is left, and wait
until all are done; who comes late passes by what is over.

The words of ``control`` are 64 bytes apart: STOP is set by the host; who ends an iteration of an
outermost loop writes DONE, and copies STOP to DECISION, by which all workers leave there.

What is too little to share is done by one worker: between the mean and the variance of a few
hundred numbers workers would meet more often than they compute. What stands between two barriers
gives the same whoever does it, so where the extents of a run leave little to do, all that is called
between some barriers is one item of one phase.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field

from ostinato.codegen.emit.function import ARENA, KEY, LOCAL, OFFSETS, Names
from ostinato.codegen.emit.index_arithmetic import expression
from ostinato.codegen.emit.kernel import bounds
from ostinato.codegen.emit.offset_table import offset_table
from ostinato.codegen.ir.extents import stored_points
from ostinato.codegen.ir.system import Axis
from ostinato.codegen.ir.tree import (
    Barrier,
    Call,
    DriverLoop,
    Fill,
    Kernel,
    Nest,
    Step,
    active,
    computed_in,
    leaves,
)
from ostinato.codegen.loops.expression import (
    Constant,
    Expression,
    Name,
    Tuple,
    binary,
    call,
    compare,
    item,
)
from ostinato.codegen.loops.shared_words import (
    CONTROL_WORDS,
    DECISION,
    DONE,
    ENDED,
    OPEN,
    SHARED_WORDS,
    SIZE,
    STOP,
    WORKER_WORDS,
)
from ostinato.codegen.loops.statements import Add, Block, Function, Kind, Return
from ostinato.codegen.planning.kernel_partition import Chain, Phase, calls, is_shared, phases
from ostinato.codegen.planning.planned import Plan
from ostinato.pdg.index import Dim, Expr, Extent, expr

WORDS = (STOP, DONE, CONTROL_WORDS, SHARED_WORDS, WORKER_WORDS)

ENTRY = "main"
LOG, OWN = "log", "own"
PHASE, ITEM, ITEMS, ENDED_ITEMS = "phase", "item", "items", "ended"
LOCALS = (PHASE, ITEM, ITEMS, ENDED_ITEMS, OWN)
Closing = Callable[[], None]  # writes what is done once, when all items of a phase are done
Inside = dict[Dim | Extent, str]
NONE, ONE = Constant(0), Constant(1)
PARAMETERS: dict[str, Kind] = {
    "tid": "int64",
    "nt": "int64",
    "bar": "int64[::1]",
    "kernels": "int64[::1]",
    ARENA: "uint8[::1]",
    OFFSETS: "int64[::1]",
    "stride": "int64",
    "seed": "int64",
    "control": "int64[::1]",
}


@dataclass
class Stamps:
    """What a profiled driver notes: it stamps every call and every barrier, and marks its loops.

    A kernel's slot is its number; those of the barriers in ``waits``, each given by the kernels
    that are called between it and the one before, follow.
    """

    kernels: int
    waits: list[tuple[int, ...]] = field(default_factory=list[tuple[int, ...]])
    loops: list[str] = field(default_factory=list[str])
    since: list[int] = field(default_factory=list[int])  # the last barrier


def emit_driver(
    plan: Plan,
    reserved: frozenset[str],
    stamps: Stamps | None = None,
    kind: type[Driver] | None = None,
    first: tuple[int, ...] | None = None,
) -> Function:
    """Return the function that every worker runs; with stamps it fills a log.

    ``first`` are the kernels' entries in the offset table, if they are known. LLVM's passes would
    take as long for it as for several kernels, and nothing runs faster after them.
    """
    first = offset_table(plan).first if first is None else first
    out = Block()
    log: dict[str, Kind] = {LOG: "int64[::1]"} if stamps else {}
    types: dict[str, Kind] = {**PARAMETERS, **log, **dict.fromkeys(plan.extents, "int64")}
    names = Names(reserved | types.keys() | {LOCAL, KEY, *LOCALS})
    out.let(LOCAL, binary("*", "tid", "stride"))
    out.let(KEY, call("seed_key", "seed"))
    out.let(PHASE, 0)
    out.do(call("enter", "bar", "tid", "nt"))
    if stamps:
        out.let(OWN, binary("*", "tid", item(LOG, SIZE)))
        out.do(call("begin", LOG, OWN))
    (kind or Driver)(plan, first, names, out, stamps).whole()
    about = "Every worker runs this, and claims items of each phase; `rest` waits for its end."
    return Function(
        ENTRY, tuple(types.items()), out.body, remarks=(about,), is_driver=True, plain=True
    )


def published_loop(plan: Plan) -> DriverLoop | None:
    """The last outermost loop that writes records: when it has done a step, all of it is written.

    Where none writes the results over its own dim it is the last one of all.
    """
    found = [s for s in plan.driver if isinstance(s, DriverLoop) and s.outermost]
    found = [loop for loop in found if _records(plan, loop)] or found
    return found[-1] if found else None


def _records(plan: Plan, loop: DriverLoop) -> bool:
    """Whether the steps of a loop write results over its dim."""
    trees = (tree for number in calls(loop.body) for tree in plan.kernels[number].body)
    results = {p.tensor for p in plan.outputs} & computed_in(tuple(trees)).keys()
    return any(plan.statements[n].result_dims[:1] == (loop.span.dim,) for n in results)


def streamed_loop(plan: Plan) -> DriverLoop | None:
    """The published loop, if it does its steps in their order: these are records of a stream."""
    loop = published_loop(plan)
    return None if loop is None or loop.reverse else loop


@dataclass(frozen=True)
class Counted:
    """A chain, the number of its items, and in how many parts each tile is."""

    chain: Chain
    count: Expression
    parts: str


# A chain, its first item, and the one behind its last.
Placed = tuple[Counted, Expression, Expression]


@dataclass
class Driver:
    """Writes the steps of a driver; ``first`` are the kernels' entries in the offset table."""

    plan: Plan
    first: tuple[int, ...]
    names: Names
    out: Block
    stamps: Stamps | None

    def whole(self) -> None:
        """Write all steps."""
        self.steps(self.plan.driver, {})

    def steps(self, steps: Sequence[Step], dims: Inside, closing: Closing | None = None) -> None:
        """Write steps; ``closing`` is written into the end of the last phase."""
        found = list(pieces(steps, self.plan))
        for piece in found:
            last = closing if piece is found[-1] else None
            if piece.elements is None:
                self.shared(piece.steps, dims, last)
                continue
            elements = expression(piece.elements, dims)
            with self.out.when(compare("<=", elements, self.plan.target.alone_elements)):
                calls = tuple(step for step in piece.steps if isinstance(step, Call))
                self.phase((Chain(calls),), dims, last, is_alone=True)
            with self.out.otherwise():
                self.shared(piece.steps, dims, last)
        if closing and not found:
            self.phase((), dims, closing)

    def shared(self, steps: Sequence[Step], dims: Inside, closing: Closing | None) -> None:
        """Write phases, and loops that have some."""
        found = list(phases(steps, self.plan.kernels))
        for each in found:
            if isinstance(each, DriverLoop):
                self.loop(each, dims)
            else:
                self.phase(each, dims, closing if each is found[-1] else None)
        if closing and (not found or isinstance(found[-1], DriverLoop)):
            self.phase((), dims, closing)

    def loop(self, loop: DriverLoop, dims: Inside) -> None:
        inner = {**dims, loop.span.dim: self.names.fresh(loop.span.dim.name)}
        number = 0
        if self.stamps:
            number = len(self.stamps.loops)
            self.stamps.loops.append(loop.span.dim.name)
        has_phases = is_shared(loop, self.plan.kernels)
        index = inner[loop.span.dim]
        with self.out.loop(index, *self.bounds(loop, inner)):
            self.mark(number, Name(index))
            if loop.outermost:
                self.published(loop, inner)
            elif has_phases:
                self.steps(loop.body, inner)
            else:
                self.serial(loop.body, inner)
        self.mark(number, Constant(ENDED))

    def bounds(self, loop: DriverLoop, dims: Inside) -> tuple[Expression, ...]:
        """Where a loop begins and ends, and its step if it is not 1."""
        return bounds(loop.span, loop.reverse, dims)

    def serial(self, steps: Sequence[Step], dims: Inside, is_alone: bool = False) -> None:
        """Steps that one worker does; one that ``is_alone`` does all tiles of a kernel."""
        for step in steps:
            if isinstance(step, DriverLoop):
                self.loop(step, dims)
            elif isinstance(step, Call):
                kernel = self.plan.kernels[step.kernel]
                if kernel.parallel is None:
                    self.call(step.kernel, dims)
                    continue
                span = kernel.parallel
                inner = {**dims, span.dim: self.names.fresh(span.dim.name)}
                with self.out.loop(inner[span.dim], *bounds(span, False, inner)):
                    self.call(step.kernel, inner)
        if self.stamps and not is_alone:
            self.stamps.since += [step.kernel for step in steps if isinstance(step, Call)]

    def phase(
        self, phase: Phase, dims: Inside, closing: Closing | None, is_alone: bool = False
    ) -> None:
        """Write a phase; one with a ``closing`` is there even if it has no items."""
        counted = [Counted(chain, *self.count(chain, dims)) for chain in phase]
        places = self.places(counted)
        certain = any(each.count == ONE for each in counted)
        if closing is not None and not certain:
            self.out.let(ITEMS, call("max", 1, ITEMS))
        is_guarded = len(counted) > 1 or (closing is not None and not certain)
        with nullcontext() if certain or closing else self.out.when(compare(">", ITEMS, 0)):
            with self.out.when(compare("==", call("load_acquire", "bar", OPEN), PHASE)):
                self.claims(places, dims, is_guarded, is_alone)
                finished = call("finish", "bar", "nt", ITEMS, ENDED_ITEMS)
                with self.out.when(compare("==", finished, 1)):
                    if closing is not None:
                        closing()
                    self.out.do(call("open_next", "bar", "nt"))
            self.out.add(Add(PHASE, ONE))
            self.out.do(call("rest", "bar", PHASE, "tid", "nt"))
            self.wait_stamp()

    def count(self, chain: Chain, dims: Inside) -> tuple[Expression, str]:
        """The number of a chain's items, and in how many parts each tile is."""
        if chain.sliced:
            return call("min", "nt", chain.slices), ""
        if chain.span is None:
            return ONE, ""
        tiles = expression(chain.span.hi - chain.span.lo, dims)
        if chain.along is None:
            return tiles, ""
        parts = self.names.fresh("parts")
        self.out.let(parts, call("max", 1, binary("//", "nt", call("max", 1, tiles))))
        return binary("*", tiles, parts), parts

    def places(self, counted: Sequence[Counted]) -> list[Placed]:
        """Every chain with its first item and the one behind its last.

        A chain begins at a multiple of the workers, so that each finds its tiles of phases before.
        """
        out: list[Placed] = []
        first: Expression = NONE
        for each in counted[:-1]:
            end = self.names.fresh("end")
            more = binary("-", binary("+", call("max", 0, each.count), "nt"), 1)
            rounded: Expression = binary("*", binary("//", more, "nt"), "nt")
            if each.chain.span is None:
                rounded = Name("nt")  # one item, or at most one for each
            self.out.let(end, rounded if first == NONE else binary("+", first, rounded))
            out.append((each, first, Name(end)))
            first = Name(end)
        if not counted:
            self.out.let(ITEMS, 0)
            return out
        count = counted[-1].count
        last = count if first == NONE else binary("+", first, call("max", 0, count))
        self.out.let(ITEMS, last)
        return [*out, (counted[-1], first, Name(ITEMS))]

    def claims(
        self,
        places: Sequence[Placed],
        dims: Inside,
        is_guarded: bool,
        is_alone: bool,
    ) -> None:
        """Write the loop in which a worker claims items and does them."""
        out, claim = self.out, call("claim", "bar", PHASE, "tid", "nt", ITEMS, ENDED_ITEMS)
        out.let(ENDED_ITEMS, 0)
        out.let(ITEM, claim)
        with out.repeat(compare(">=", ITEM, 0)):
            for k, (each, first, end) in enumerate(places):
                test = compare("<", ITEM, end)
                side = out.otherwise(test) if k else out.when(test)
                with side if len(places) > 1 else nullcontext():
                    own = Name(ITEM) if first == NONE else binary("-", ITEM, first)
                    guard = out.when(compare("<", own, each.count)) if is_guarded else nullcontext()
                    with guard:
                        self.chain(each, own, dims, is_alone)
            out.add(Add(ENDED_ITEMS, ONE))
            out.let(ITEM, claim)

    def chain(self, counted: Counted, own: Expression, dims: Inside, is_alone: bool) -> None:
        """Write what is done for one item of a chain."""
        chain, parts = counted.chain, tuple[Expression, ...]()
        if chain.span is None and not chain.sliced:
            self.serial(chain.steps, dims, is_alone)
            return
        tile = ""
        if chain.sliced:
            parts = (own, counted.count)
        if chain.span is not None:
            tile = self.names.fresh(chain.span.dim.name)
            lo, whole = expression(chain.span.lo, dims), own
            if counted.parts:
                parts = (binary("%", own, counted.parts), Name(counted.parts))
                whole = binary("//", own, counted.parts)
            self.out.let(tile, whole if lo == NONE else binary("+", lo, whole))
        for step in chain.steps:
            assert isinstance(step, Call), "a loop is serial, or has phases of its own"
            kernel = self.plan.kernels[step.kernel]
            inner = {**dims, kernel.parallel.dim: tile} if kernel.parallel else dims
            self.call(step.kernel, inner, parts)
            if self.stamps:
                self.stamps.since.append(step.kernel)

    def call(self, number: int, dims: Inside, parts: tuple[Expression, ...] = ()) -> None:
        """Call a kernel."""
        kernel = self.plan.kernels[number]
        names = (*self.plan.extents, *(dims[d] for d in kernel.outer))
        own = (Name(LOCAL), Name(KEY), Constant(self.first[number]))
        integers = Tuple((*own, *map(Name, names), *parts, *map(Constant, kernel.streams)))
        invoked = call("invoke", item("kernels", number), ARENA, OFFSETS, integers)
        self.out.do(invoked, kernel.name)
        self.stamp(number)

    def wait_stamp(self) -> None:
        if self.stamps:
            self.stamp(self.stamps.kernels + len(self.stamps.waits))
            self.stamps.waits.append(tuple(self.stamps.since))
            self.stamps.since.clear()

    def stamp(self, slot: int) -> None:
        if self.stamps:
            self.out.do(call("stamp", LOG, OWN, slot))

    def mark(self, loop: int, value: Expression) -> None:
        if self.stamps:
            self.out.do(call("mark", LOG, OWN, loop, value))

    def published(self, loop: DriverLoop, dims: Inside) -> None:
        """The body of an outermost loop: all may end there, and the last loop publishes it."""
        out, name = self.out, dims[loop.span.dim]
        lo, hi = (expression(e, dims) for e in (loop.span.lo, loop.span.hi))
        done = binary("-", hi, name) if loop.reverse else binary("+", name, 1)
        if not loop.reverse and lo != NONE:
            done = binary("-", done, lo)

        def closing() -> None:
            if loop == published_loop(self.plan):
                out.do(call("store_release", "control", DONE, done))
            stop = call("load_acquire", "control", STOP)
            out.do(call("store_release", "control", DECISION, stop))
            self.decided(loop, done)

        body = loop.body[:-1] if loop.body and isinstance(loop.body[-1], Barrier) else loop.body
        self.steps(body, dims, closing)
        with out.when(compare("!=", call("load_acquire", "control", DECISION), 0)):
            out.add(Return())

    def decided(self, loop: DriverLoop, done: Expression) -> None:
        """Write what else decides whether workers leave after an iteration."""


@dataclass(frozen=True)
class Piece:
    """Steps of one body in order; ``elements`` of tiles if one worker may do them alone.

    Those start after a barrier, and a barrier is the last one.
    """

    steps: tuple[Step, ...]
    elements: Expr | None = None


def pieces(steps: Sequence[Step], plan: Plan) -> Iterator[Piece]:
    """The steps of a body, those together that one worker may do alone."""
    found: list[tuple[Step, ...]] = []
    if "work of one worker" in plan.without:
        yield from [Piece(tuple(steps))] if steps else []
        return
    for segment in _segments(steps):
        if _elements(segment, plan) is not None:
            found.append(segment)
            continue
        yield from _joined(found, plan)
        found = []
        yield Piece(segment)
    yield from _joined(found, plan)


def _segments(steps: Sequence[Step]) -> Iterator[tuple[Step, ...]]:
    """The steps up to each barrier, with it."""
    first = 0
    for k, step in enumerate(steps):
        if isinstance(step, Barrier):
            yield tuple(steps[first : k + 1])
            first = k + 1
    if first < len(steps):
        yield tuple(steps[first:])


def _joined(segments: Sequence[tuple[Step, ...]], plan: Plan) -> Iterator[Piece]:
    """One piece, if a barrier can be left out."""
    steps = tuple(step for segment in segments for step in segment)
    elements = _elements(steps, plan)
    if len(segments) > 1 and elements is not None and elements != expr(0):
        yield Piece(steps, elements)
    elif steps:
        yield Piece(steps)


def _elements(steps: Sequence[Step], plan: Plan) -> Expr | None:
    """What parallel kernels compute up to a barrier; None where one worker should not do it."""
    total = expr(0)
    for step in steps:
        if isinstance(step, Barrier):
            continue
        kernel = plan.kernels[step.kernel] if isinstance(step, Call) else None
        if kernel is None or kernel.sliced or kernel.along is not None:
            return None
        work = _work(kernel, plan) if kernel.parallel is not None else expr(0)
        if work is None:
            return None
        total = total + work
    return total if steps and isinstance(steps[-1], Barrier) else None


def _work(kernel: Kernel, plan: Plan) -> Expr | None:
    """The elements that all tiles of a kernel compute, if it has nothing but nests."""
    total = expr(0)
    for leaf, path, _ in leaves(kernel.body):
        spans = [loop.span for loop in path]
        counts = [stored_points(s.hi) - s.lo for s in (kernel.parallel, *spans) if s is not None]
        if not isinstance(leaf, Nest | Fill) or any(each.dims for each in counts):
            return None
        for name in active(leaf):
            s = plan.statements[name]
            each = _positions(s.result_axes if isinstance(leaf, Fill) else s.axes)
            if each is None:
                return None
            work = expr(each)
            for count in counts:
                work = work * count
            total = total + work
    return total


def _positions(axes: Sequence[Axis]) -> int | None:
    total = 1
    for axis in axes:
        if not axis.pad.is_const:
            return None
        total *= axis.pad.const
    return total
