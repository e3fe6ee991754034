"""The driver: what every worker runs, with barriers, progress and a way to stop.

The words of ``control`` are 64 bytes apart: STOP is set by the host, DONE is written by worker 0
after an iteration of the outermost loop, DECISION (two words, by parity) is what worker 0 read from
STOP before the last barrier of an iteration, so that all workers leave together.
"""

from __future__ import annotations

from typing import assert_never

from ostinato.codegen.emit.function import ARENA, KEY, LOCAL, OFFSETS
from ostinato.codegen.emit.index import expression
from ostinato.codegen.emit.kernel import loop_head
from ostinato.codegen.emit.names import Names
from ostinato.codegen.emit.source import Source
from ostinato.codegen.plan import Plan
from ostinato.codegen.tree import Barrier, Call, DriverLoop, Kernel, Step
from ostinato.pdg.index import Dim, Extent

STOP, DONE, DECISION = 0, 8, 16  # words of `control`; DECISION + 8 is the second parity
CONTROL_WORDS = 32

ENTRY = "main"
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


def emit_driver(plan: Plan, reserved: frozenset[str]) -> str:
    """Return the text of the function that every worker runs."""
    out = Source()
    out.line("# Every worker runs this; a barrier lets all of them finish before any goes on.")
    types = {**PARAMETERS, **dict.fromkeys(plan.extents, "int64")}
    out.line("@driver(")
    out.lines(f'    "{kind}",  # {name}' for name, kind in types.items())
    out.line(")")
    names = Names(reserved | types.keys() | {LOCAL, KEY, "last"})
    with out.block(f"def {ENTRY}({', '.join(types)})"):
        out.line(f"{LOCAL} = tid * stride")
        out.line(f"{KEY} = fold_seed(seed)")
        _steps(plan, plan.driver, {}, names, out)
    return out.text()


def published_loop(plan: Plan) -> DriverLoop | None:
    """The last outermost loop: when it has done a step, everything of that step is written."""
    found = [s for s in plan.driver if isinstance(s, DriverLoop) and s.outermost]
    return found[-1] if found else None


def _steps(
    plan: Plan,
    steps: tuple[Step, ...],
    dims: dict[Dim | Extent, str],
    names: Names,
    out: Source,
) -> None:
    for step in steps:
        match step:
            case Call(number):
                _call(plan, plan.kernels[number], dims, names, out)
            case Barrier():
                out.line("barrier(bar, nt)")
            case DriverLoop(span, reverse, outermost, body):
                inner = {**dims, span.dim: names.fresh(span.dim.name)}
                with out.block(loop_head(span, reverse, inner)):
                    if outermost:
                        _published(plan, step, inner, names, out)
                    else:
                        _steps(plan, body, inner, names, out)
            case unknown:
                assert_never(unknown)


def _call(
    plan: Plan, kernel: Kernel, dims: dict[Dim | Extent, str], names: Names, out: Source
) -> None:
    inner, head = dims, "if tid == 0"
    if kernel.parallel is not None:
        inner = {**dims, kernel.parallel.dim: names.copy().fresh(kernel.parallel.dim.name)}
        head = loop_head(kernel.parallel, False, inner, "tid")
    integers = (LOCAL, KEY, *plan.extents, *(inner[d] for d in kernel.outer))
    number = plan.kernels.index(kernel)
    with out.block(head):
        call = f"invoke(kernels[{number}], {ARENA}, {OFFSETS}, ({', '.join(integers)}))"
        out.line(f"{call}  # {kernel.name}")


def _published(
    plan: Plan, loop: DriverLoop, dims: dict[Dim | Extent, str], names: Names, out: Source
) -> None:
    """The body of an outermost loop: all may end there, and the last loop publishes it."""
    body = loop.body[:-1] if loop.body and isinstance(loop.body[-1], Barrier) else loop.body
    _steps(plan, body, dims, names, out)
    name = dims[loop.span.dim]
    lo, hi = (expression(e, dims) for e in (loop.span.lo, loop.span.hi))
    done = f"{hi} - {name}" if loop.reverse else f"{name} + 1"
    if not loop.reverse and lo.code != "0":
        done = f"{name} + 1 - {lo.within(4)}"
    out.line(f"last = {DECISION} + 8 * ({name} & 1)")
    with out.block("if tid == 0"):
        out.line(f"control[last] = load_acquire(control, {STOP})")
    out.line("barrier(bar, nt)")
    if loop == published_loop(plan):
        with out.block("if tid == 0"):
            out.line(f"store_release(control, {DONE}, {done})")
    with out.block("if control[last] != 0"):
        out.line("return")
