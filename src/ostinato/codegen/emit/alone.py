"""Parallel work that is too little to share: one worker does it and waits for nobody.

Between the mean and the variance of a few hundred numbers workers would meet more often than they
compute. What stands between two barriers gives the same whoever does it, so where the extents of
a run leave little to do, all that is called between some barriers is one item of one phase.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ostinato.codegen.ir.extents import stored_points
from ostinato.codegen.ir.system import Axis
from ostinato.codegen.ir.tree import Barrier, Call, Fill, Kernel, Nest, Step, active, leaves
from ostinato.codegen.planning.planned import Plan
from ostinato.pdg.index import Expr, dims_of, expr


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
        if not isinstance(leaf, Nest | Fill) or any(map(dims_of, counts)):
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
