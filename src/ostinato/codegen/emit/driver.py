"""The driver: what every worker runs, with phases, progress and a way to stop.

All workers go through the same loops. In each phase they claim items until none is left, and wait
until all are done; who comes late passes by what is over.

The words of ``control`` are 64 bytes apart: STOP is set by the host; who ends an iteration of an
outermost loop writes DONE, and copies STOP to DECISION, by which all workers leave there.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field

from ostinato.codegen.cpu.phase_workers import OPEN, SHARED_WORDS, WORKER_WORDS
from ostinato.codegen.cpu.python_text import PRODUCT
from ostinato.codegen.cpu.stamps import ENDED, SIZE
from ostinato.codegen.emit.alone import LITTLE, pieces
from ostinato.codegen.emit.function import ARENA, KEY, LOCAL, OFFSETS
from ostinato.codegen.emit.index_text import expression
from ostinato.codegen.emit.kernel import loop_head
from ostinato.codegen.emit.names import Names
from ostinato.codegen.emit.source import Source, comment
from ostinato.codegen.ir.tree import SLICES, Barrier, Call, DriverLoop, Step
from ostinato.codegen.planning.phases import Chain, Phase, is_shared, phases
from ostinato.codegen.planning.planned import Plan
from ostinato.pdg.index import Dim, Extent

STOP, DONE, DECISION = 0, 8, 16  # words of `control`
CONTROL_WORDS = 24
WORDS = (STOP, DONE, CONTROL_WORDS, SHARED_WORDS, WORKER_WORDS)

ENTRY = "main"
LOG, OWN = "log", "own"
PHASE, ITEM, ITEMS, ENDED_ITEMS = "phase", "item", "items", "ended"
LOCALS = (PHASE, ITEM, ITEMS, ENDED_ITEMS, OWN)
Closing = Callable[[], None]  # writes what is done once, when all items of a phase are done
Inside = dict[Dim | Extent, str]
PARAMETERS = {
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


def emit_driver(plan: Plan, reserved: frozenset[str], stamps: Stamps | None = None) -> str:
    """Return the text of the function that every worker runs; with stamps it fills a log."""
    out = Source()
    out.line("# Every worker runs this, and claims items of each phase; `rest` waits for its end.")
    log = {LOG: "int64[::1]"} if stamps else {}
    types = {**PARAMETERS, **log, **dict.fromkeys(plan.extents, "int64")}
    out.line("@driver(")
    out.lines(f'    "{kind}",  {comment(name)}' for name, kind in types.items())
    out.line(")")
    names = Names(reserved | types.keys() | {LOCAL, KEY, *LOCALS})
    with out.block(f"def {ENTRY}({', '.join(types)})"):
        out.line(f"{LOCAL} = tid * stride")
        out.line(f"{KEY} = fold_seed(seed)")
        out.line(f"{PHASE} = 0")
        out.line("enter(bar, tid, nt)")
        if stamps:
            out.line(f"{OWN} = tid * {LOG}[{SIZE}]")
            out.line(f"begin({LOG}, {OWN})")
        _Driver(plan, names, out, stamps).steps(plan.driver, {})
    return out.text()


def published_loop(plan: Plan) -> DriverLoop | None:
    """The last outermost loop: when it has done a step, everything of that step is written."""
    found = [s for s in plan.driver if isinstance(s, DriverLoop) and s.outermost]
    return found[-1] if found else None


@dataclass(frozen=True)
class Counted:
    """A chain, the text of the number of its items, and in how many parts each tile is."""

    chain: Chain
    count: str
    parts: str


@dataclass
class _Driver:
    """The text of a driver's steps."""

    plan: Plan
    names: Names
    out: Source
    stamps: Stamps | None

    def steps(self, steps: Sequence[Step], dims: Inside, closing: Closing | None = None) -> None:
        """Write steps; ``closing`` is written into the end of the last phase."""
        found = list(pieces(steps, self.plan))
        for piece in found:
            last = closing if piece is found[-1] else None
            if piece.elements is None:
                self.shared(piece.steps, dims, last)
                continue
            elements = expression(piece.elements, dims)
            with self.out.block(f"if {elements} <= {LITTLE}"):
                calls = tuple(step for step in piece.steps if isinstance(step, Call))
                self.phase((Chain(calls),), dims, last, is_alone=True)
            with self.out.block("else"):
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
        with self.out.block(loop_head(loop.span, loop.reverse, inner)):
            self.mark(number, inner[loop.span.dim])
            if loop.outermost:
                self.published(loop, inner)
            elif has_phases:
                self.steps(loop.body, inner)
            else:
                self.serial(loop.body, inner)
        self.mark(number, str(ENDED))

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
                with self.out.block(loop_head(span, False, inner)):
                    self.call(step.kernel, inner)
        if self.stamps and not is_alone:
            self.stamps.since += [step.kernel for step in steps if isinstance(step, Call)]

    def phase(
        self, phase: Phase, dims: Inside, closing: Closing | None, is_alone: bool = False
    ) -> None:
        """Write a phase; one with a ``closing`` is there even if it has no items."""
        counted = [Counted(chain, *self.count(chain, dims)) for chain in phase]
        places = self.places(counted)
        certain = any(each.count == "1" for each in counted)
        if closing is not None and not certain:
            self.out.line(f"{ITEMS} = max(1, {ITEMS})")
        is_guarded = len(counted) > 1 or (closing is not None and not certain)
        with nullcontext() if certain or closing else self.out.block(f"if {ITEMS} > 0"):
            with self.out.block(f"if load_acquire(bar, {OPEN}) == {PHASE}"):
                self.claims(places, dims, is_guarded, is_alone)
                with self.out.block(f"if finish(bar, nt, {ITEMS}, {ENDED_ITEMS}) == 1"):
                    if closing is not None:
                        closing()
                    self.out.line("open_next(bar, nt)")
            self.out.line(f"{PHASE} += 1")
            self.out.line(f"rest(bar, {PHASE}, tid, nt)")
            self.wait_stamp()

    def count(self, chain: Chain, dims: Inside) -> tuple[str, str]:
        """The number of a chain's items, and in how many parts each tile is."""
        if chain.sliced:
            return f"min(nt, {SLICES})", ""
        if chain.span is None:
            return "1", ""
        tiles = expression(chain.span.hi - chain.span.lo, dims)
        if chain.along is None:
            return str(tiles), ""
        parts = self.names.fresh("parts")
        self.out.line(f"{parts} = max(1, nt // max(1, {tiles}))")
        return f"{tiles.within(PRODUCT)} * {parts}", parts

    def places(self, counted: Sequence[Counted]) -> list[tuple[Counted, str, str]]:
        """Every chain with its first item and the one behind its last.

        A chain begins at a multiple of the workers, so that each finds its tiles of phases before.
        """
        out, first = list[tuple[Counted, str, str]](), "0"
        for each in counted[:-1]:
            end = self.names.fresh("end")
            rounded = f"(max(0, {each.count}) + nt - 1) // nt * nt"
            if each.chain.span is None:
                rounded = "nt"  # one item, or at most one for each
            self.out.line(f"{end} = {rounded if first == '0' else f'{first} + {rounded}'}")
            out.append((each, first, end))
            first = end
        if not counted:
            self.out.line(f"{ITEMS} = 0")
            return out
        count = counted[-1].count
        self.out.line(f"{ITEMS} = {count if first == '0' else f'{first} + max(0, {count})'}")
        return [*out, (counted[-1], first, ITEMS)]

    def claims(
        self,
        places: Sequence[tuple[Counted, str, str]],
        dims: Inside,
        is_guarded: bool,
        is_alone: bool,
    ) -> None:
        """Write the loop in which a worker claims items and does them."""
        out, claim = self.out, f"{ITEM} = claim(bar, {PHASE}, tid, nt, {ITEMS}, {ENDED_ITEMS})"
        out.line(f"{ENDED_ITEMS} = 0")
        out.line(claim)
        with out.block(f"while {ITEM} >= 0"):
            for k, (each, first, end) in enumerate(places):
                head = f"{'elif' if k else 'if'} {ITEM} < {end}"
                with out.block(head) if len(places) > 1 else nullcontext():
                    own = ITEM if first == "0" else f"{ITEM} - {first}"
                    guard = out.block(f"if {own} < {each.count}") if is_guarded else nullcontext()
                    with guard:
                        self.chain(each, own, dims, is_alone)
            out.line(f"{ENDED_ITEMS} += 1")
            out.line(claim)

    def chain(self, counted: Counted, own: str, dims: Inside, is_alone: bool) -> None:
        """Write what is done for one item of a chain."""
        chain, parts = counted.chain, tuple[str, ...]()
        if chain.span is None and not chain.sliced:
            self.serial(chain.steps, dims, is_alone)
            return
        tile = ""
        if chain.sliced:
            parts = (own, counted.count)
        if chain.span is not None:
            tile = self.names.fresh(chain.span.dim.name)
            lo = expression(chain.span.lo, dims)
            start = "" if lo.code == "0" else f"{lo} + "
            whole = f"({own})" if own != ITEM else own
            if counted.parts:
                parts = (f"{whole} % {counted.parts}", counted.parts)
                whole = f"{whole} // {counted.parts}"
            self.out.line(f"{tile} = {start}{whole}")
        for step in chain.steps:
            assert isinstance(step, Call), "a loop is serial, or has phases of its own"
            kernel = self.plan.kernels[step.kernel]
            inner = {**dims, kernel.parallel.dim: tile} if kernel.parallel else dims
            self.call(step.kernel, inner, parts)
            if self.stamps:
                self.stamps.since.append(step.kernel)

    def call(self, number: int, dims: Inside, parts: tuple[str, ...] = ()) -> None:
        """Call a kernel."""
        kernel = self.plan.kernels[number]
        integers = (LOCAL, KEY, *self.plan.extents, *(dims[d] for d in kernel.outer), *parts)
        call = f"invoke(kernels[{number}], {ARENA}, {OFFSETS}, ({', '.join(integers)}))"
        self.out.line(f"{call}  {comment(kernel.name)}")
        self.stamp(number)

    def wait_stamp(self) -> None:
        if self.stamps:
            self.stamp(self.stamps.kernels + len(self.stamps.waits))
            self.stamps.waits.append(tuple(self.stamps.since))
            self.stamps.since.clear()

    def stamp(self, slot: int) -> None:
        if self.stamps:
            self.out.line(f"stamp({LOG}, {OWN}, {slot})")

    def mark(self, loop: int, value: str) -> None:
        if self.stamps:
            self.out.line(f"mark({LOG}, {OWN}, {loop}, {value})")

    def published(self, loop: DriverLoop, dims: Inside) -> None:
        """The body of an outermost loop: all may end there, and the last loop publishes it."""
        out, name = self.out, dims[loop.span.dim]
        lo, hi = (expression(e, dims) for e in (loop.span.lo, loop.span.hi))
        done = f"{hi} - {name}" if loop.reverse else f"{name} + 1"
        if not loop.reverse and lo.code != "0":
            done = f"{name} + 1 - {lo.within(4)}"

        def closing() -> None:
            if loop == published_loop(self.plan):
                out.line(f"store_release(control, {DONE}, {done})")
            out.line(f"store_release(control, {DECISION}, load_acquire(control, {STOP}))")

        body = loop.body[:-1] if loop.body and isinstance(loop.body[-1], Barrier) else loop.body
        self.steps(body, dims, closing)
        with out.block(f"if load_acquire(control, {DECISION}) != 0"):
            out.line("return")
