"""The driver: what every worker runs, with barriers, progress and a way to stop.

The words of ``control`` are 64 bytes apart: STOP is set by the host, DONE is written by worker 0
after an iteration of the outermost loop, DECISION (two words, by parity) is what worker 0 read from
STOP before the last barrier of an iteration, so that all workers leave together.
"""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import dataclass, field
from typing import assert_never

from ostinato.codegen.cpu.stamps import ENDED, SIZE
from ostinato.codegen.emit.alone import LITTLE, pieces
from ostinato.codegen.emit.function import ARENA, KEY, LOCAL, OFFSETS
from ostinato.codegen.emit.index import expression
from ostinato.codegen.emit.kernel import loop_head
from ostinato.codegen.emit.names import Names
from ostinato.codegen.emit.source import Source, comment
from ostinato.codegen.planned import Plan
from ostinato.codegen.tree import Barrier, Call, DriverLoop, Step
from ostinato.pdg.index import Dim, Extent

STOP, DONE, DECISION = 0, 8, 16  # words of `control`; DECISION + 8 is the second parity
CONTROL_WORDS = 32

ENTRY = "main"
LOG, OWN = "log", "own"
SHARED = "shared"  # how many workers share out the steps of a tile
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
    out.line("# Every worker runs this; a barrier lets all of them finish before any goes on.")
    log = {LOG: "int64[::1]"} if stamps else {}
    types = {**PARAMETERS, **log, **dict.fromkeys(plan.extents, "int64")}
    out.line("@driver(")
    out.lines(f'    "{kind}",  {comment(name)}' for name, kind in types.items())
    out.line(")")
    names = Names(reserved | types.keys() | {LOCAL, KEY, "last", OWN, SHARED})
    with out.block(f"def {ENTRY}({', '.join(types)})"):
        out.line(f"{LOCAL} = tid * stride")
        out.line(f"{KEY} = fold_seed(seed)")
        if stamps:
            out.line(f"{OWN} = tid * {LOG}[{SIZE}]")
            out.line(f"begin({LOG}, {OWN})")
        _Driver(plan, names, out, stamps).steps(plan.driver, {})
    return out.text()


def published_loop(plan: Plan) -> DriverLoop | None:
    """The last outermost loop: when it has done a step, everything of that step is written."""
    found = [s for s in plan.driver if isinstance(s, DriverLoop) and s.outermost]
    return found[-1] if found else None


@dataclass
class _Driver:
    """The text of a driver's steps."""

    plan: Plan
    names: Names
    out: Source
    stamps: Stamps | None

    def steps(self, steps: tuple[Step, ...], dims: Inside) -> None:
        for piece in pieces(steps, self.plan):
            if piece.elements is None:
                self.shared(piece.steps, dims)
                continue
            elements = expression(piece.elements, dims)
            with self.out.block(f"if {elements} <= {LITTLE}"), self.out.block("if tid == 0"):
                for step in piece.steps:
                    if isinstance(step, Call):
                        self.call(step.kernel, dims, is_alone=True)
            with self.out.block("else"):
                self.shared(piece.steps[:-1], dims)
            self.barrier()

    def shared(self, steps: tuple[Step, ...], dims: Inside) -> None:
        for step in steps:
            match step:
                case Call(number):
                    self.call(number, dims)
                case Barrier():
                    self.barrier()
                case DriverLoop():
                    self.loop(step, dims)
                case unknown:
                    assert_never(unknown)

    def loop(self, loop: DriverLoop, dims: Inside) -> None:
        inner = {**dims, loop.span.dim: self.names.fresh(loop.span.dim.name)}
        number = 0
        if self.stamps:
            number = len(self.stamps.loops)
            self.stamps.loops.append(loop.span.dim.name)
        with self.out.block(loop_head(loop.span, loop.reverse, inner)):
            self.mark(number, inner[loop.span.dim])
            if loop.outermost:
                self.published(loop, inner)
            else:
                self.steps(loop.body, inner)
        self.mark(number, str(ENDED))

    def call(self, number: int, dims: Inside, is_alone: bool = False) -> None:
        """Call a kernel; one worker that ``is_alone`` does all tiles of it."""
        kernel = self.plan.kernels[number]
        inner, head = dims, "" if kernel.sliced or is_alone else "if tid == 0"
        parts = ("tid", "nt") if kernel.sliced else ()
        if kernel.parallel is not None:
            span, mine = kernel.parallel, ("tid", "nt")
            inner = {**dims, span.dim: self.names.copy().fresh(span.dim.name)}
            if kernel.along:
                tiles = expression(span.hi - span.lo, dims)
                self.out.line(f"{SHARED} = max(1, nt // max(1, {tiles}))")
                mine = f"tid // {SHARED}", f"nt // {SHARED}"
                parts = f"tid % {SHARED}", SHARED
            head = loop_head(span, False, inner, *(() if is_alone else mine))
        integers = (LOCAL, KEY, *self.plan.extents, *(inner[d] for d in kernel.outer), *parts)
        with self.out.block(head) if head else nullcontext():
            call = f"invoke(kernels[{number}], {ARENA}, {OFFSETS}, ({', '.join(integers)}))"
            self.out.line(f"{call}  {comment(kernel.name)}")
            self.stamp(number)
        if self.stamps and not is_alone:
            self.stamps.since.append(number)

    def barrier(self) -> None:
        self.out.line("barrier(bar, nt)")
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
        out = self.out
        body = loop.body[:-1] if loop.body and isinstance(loop.body[-1], Barrier) else loop.body
        self.steps(body, dims)
        name = dims[loop.span.dim]
        lo, hi = (expression(e, dims) for e in (loop.span.lo, loop.span.hi))
        done = f"{hi} - {name}" if loop.reverse else f"{name} + 1"
        if not loop.reverse and lo.code != "0":
            done = f"{name} + 1 - {lo.within(4)}"
        out.line(f"last = {DECISION} + 8 * ({name} & 1)")
        with out.block("if tid == 0"):
            out.line(f"control[last] = load_acquire(control, {STOP})")
        self.barrier()
        if loop == published_loop(self.plan):
            with out.block("if tid == 0"):
                out.line(f"store_release(control, {DONE}, {done})")
        with out.block("if control[last] != 0"):
            out.line("return")
