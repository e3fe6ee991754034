"""The steps of a plan: where in its loops each statement runs, and what it reads."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import assert_never

from ostinato.certificate.order import Loop, Read, Step
from ostinato.codegen.plan import Plan
from ostinato.codegen.system import Load, Statement
from ostinato.codegen.tree import Barrier, DriverLoop, Fill, Span, computed, leaves
from ostinato.codegen.tree import Call as KernelCall
from ostinato.codegen.tree import Loop as TreeLoop
from ostinato.codegen.tree import Step as DriverStep
from ostinato.codegen.tree import Time as TreeTime
from ostinato.codegen.values import guarded_loads
from ostinato.pdg.condition import Cond, cond_symbols
from ostinato.pdg.index import Dim, Expr, dims_of


@dataclass(frozen=True, slots=True)
class _Here:
    """A place in the driver or a kernel."""

    loops: tuple[Loop, ...] = ()
    time: tuple[int | Dim, ...] = ()

    def at(self, place: int) -> _Here:
        return _Here(self.loops, (*self.time, place))

    def inside(self, span: Span, reverse: bool, parallel: bool) -> _Here:
        loop = Loop(span.dim, span.lo, span.hi, reverse, parallel)
        return _Here((*self.loops, loop), (*self.time, span.dim))


def steps_of(plan: Plan) -> tuple[Step, ...]:
    """Every statement that a plan computes, in the order of its text."""
    return tuple(_driver_steps(plan, plan.driver, _Here()))


def _driver_steps(plan: Plan, steps: Sequence[DriverStep], here: _Here) -> Iterator[Step]:
    for place, step in enumerate(steps):
        match step:
            case Barrier():
                pass
            case DriverLoop(span, reverse, _, body):
                inner = here.at(place).inside(span, reverse, False)
                yield from _driver_steps(plan, body, inner)
            case KernelCall(number):
                kernel, inner = plan.kernels[number], here.at(place)
                if kernel.parallel is not None:
                    inner = inner.inside(kernel.parallel, False, True)
                for leaf, _, time in leaves(kernel.body):
                    if not isinstance(leaf, Fill):
                        at = _timed(inner, time)
                        for k, name in enumerate(computed(leaf)):
                            yield _step(plan.statements[name], at.at(k))
            case unknown:
                assert_never(unknown)


def _timed(here: _Here, time: TreeTime) -> _Here:
    for part in time:
        if isinstance(part, TreeLoop):
            here = here.inside(part.span, part.reverse, part.parallel)
        else:
            here = here.at(part)
    return here


def _step(statement: Statement, here: _Here) -> Step:
    dims = statement.dims
    folded = tuple(d for d in dims if d in statement.reduced)
    reads = tuple(
        dict.fromkeys(_read(statement, load, cond) for load, cond in guarded_loads(statement))
    )
    return Step(statement.name, dims, folded, here.loops, here.time, reads)


def _read(statement: Statement, load: Load, cond: Cond) -> Read:
    """A load with the ranges of the indices that its positions and its condition mention."""
    axes = (*statement.axes, *(pick.axis for pick in load.picks))
    sizes = {axis.index: axis.size for axis in axes}
    open_ = {d for e in load.dims for d in dims_of(e)}
    open_ |= {s for s in cond_symbols(cond) if isinstance(s, Dim)}
    ranges: dict[Dim, Expr] = {}
    while open_:
        found = {d: sizes[d] for d in sizes if d in open_ and d not in ranges}
        ranges.update(found)
        open_ = {d for size in found.values() for d in dims_of(size)}
    ordered = tuple((d, ranges[d]) for d in sizes if d in ranges)
    return Read(load.tensor, load.dims, cond, ordered)
