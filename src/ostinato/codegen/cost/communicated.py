"""What workers hand to each other: memory that one wrote and another one reads.

A line that another core wrote comes from its cache, which takes longer than one's own. This decides
whether a small program gains from a second worker: its parameters and the sums of its tiles
change hands at every step.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ostinato.codegen.ir.tree import Call, DriverLoop, Kernel, Span, Step
from ostinato.codegen.loops.expression import ITEM_BYTES
from ostinato.codegen.memory.storage import Storage
from ostinato.machine.profile import Profile
from ostinato.pdg.index import Dim, Extent, evaluate

if TYPE_CHECKING:
    from ostinato.codegen.planning.planned import Plan


@dataclass(frozen=True)
class _Called:
    """A kernel, the loops of the driver around its call, and what it touches."""

    kernel: Kernel
    loops: tuple[Dim, ...]
    writes: frozenset[str]
    reads: frozenset[str]


def passing_ns(
    plan: Plan, profile: Profile, point: Mapping[Dim | Extent, int], workers: int
) -> float:
    """The time in which workers wait for what others wrote, over a whole run."""
    if workers == 1:
        return 0.0
    lengths: dict[Dim, int] = {}
    called = list(_called(plan, plan.driver, (), dict(point), lengths))
    total = 0.0
    for reader in called:
        for stored in map(plan.storage.__getitem__, sorted(reader.reads)):
            found = (
                _bytes(stored, writer, reader, point, lengths)
                * _share(stored, writer, reader, point, workers)
                for writer in called
                if stored.place == "global" and stored.tensor in writer.writes
            )
            total += max(found, default=0.0)
    return total * profile.passed_ns


def _called(
    plan: Plan,
    steps: Sequence[Step],
    loops: tuple[Dim, ...],
    point: dict[Dim | Extent, int],
    lengths: dict[Dim, int],
) -> Iterator[_Called]:
    """Every call of a kernel; notes how often the loops of the driver run."""
    for step in steps:
        if isinstance(step, DriverLoop):
            lengths[step.span.dim], inner = middle(step.span, point)
            yield from _called(plan, step.body, (*loops, step.span.dim), inner, lengths)
        elif isinstance(step, Call):
            touched = plan.accesses[step.kernel]
            yield _Called(plan.kernels[step.kernel], loops, touched.writes, touched.reads)


def middle(span: Span, point: Mapping[Dim | Extent, int]) -> tuple[int, dict[Dim | Extent, int]]:
    """How often a loop runs, and a point in the middle of it."""
    lo, hi = evaluate(span.lo, point), evaluate(span.hi, point)
    return max(0, hi - lo), {**point, span.dim: (lo + max(lo, hi - 1)) // 2}


def _bytes(
    stored: Storage,
    writer: _Called,
    reader: _Called,
    point: Mapping[Dim | Extent, int],
    lengths: Mapping[Dim, int],
) -> float:
    """What is written and then read, as often as the loops around both run."""
    both = list[Dim]()
    for a, b in zip(writer.loops, reader.loops, strict=False):
        if a != b:
            break
        both.append(a)
    times = math.prod(lengths[dim] for dim in both)
    numbers = math.prod(max(0, evaluate(axis.pad, point)) for axis in stored.axes)
    shared = writer.kernel.parallel
    for slot in stored.slots:
        if shared is not None and slot.dim == shared.dim:
            numbers *= middle(shared, point)[0]  # of a slot for every tile, groups use some
        elif slot.dim not in both:
            numbers *= max(0, evaluate(slot.extent, point))
    return float(times * numbers * ITEM_BYTES[stored.dtype])


def _share(
    stored: Storage,
    writer: _Called,
    reader: _Called,
    point: Mapping[Dim | Extent, int],
    workers: int,
) -> float:
    """The part of it that the busiest reader gets from others."""
    wrote, reads = writer.kernel.parallel, reader.kernel.parallel
    of_others = (workers - 1) / workers if writer.kernel.is_shared else 1.0
    if reader.kernel.sliced:
        return 0.0 if writer.kernel.sliced else of_others / workers
    if reads is None:
        return of_others if writer.kernel.is_shared else 0.0
    if not any(s.dim == reads.dim for s in stored.slots):
        return of_others
    apart = (writer.kernel.along is None) != (reader.kernel.along is None)
    if apart and middle(reads, point)[0] < workers:
        return of_others / workers  # the steps of a tile are shared out
    return 0.0 if wrote is not None and wrote.dim == reads.dim else of_others / workers
