"""Phases: what stands between two barriers, as items that workers claim.

Nothing in a phase needs anything else in it, but for what belongs together: the serial steps, the
kernels that run in the same tiles, those of which each worker computes slices. Such a chain is
done for one item by one worker, in its order, whichever worker claims the item; what one kernel
leaves there the next one finds. A loop around shared work has phases of its own in every iteration.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass

from ostinato.codegen.ir.tree import Barrier, Call, DriverLoop, Kernel, Span, Step


@dataclass(frozen=True)
class Chain:
    """Steps that one worker does for an item, one after the other.

    The items are the tiles of ``span``, each in some parts if its steps are shared out ``along`` a
    loop, or parts of arrays of a chain that is ``sliced``; without these there is one item.
    """

    steps: tuple[Step, ...]
    span: Span | None = None
    along: Span | None = None
    sliced: bool = False
    slices: int = 0  # of the array that has most


Phase = tuple[Chain, ...]


def phases(steps: Sequence[Step], kernels: Sequence[Kernel]) -> Iterator[Phase | DriverLoop]:
    """The phases of a body in order, and the loops that have phases of their own."""
    since: list[Step] = []
    for step in steps:
        is_loop = isinstance(step, DriverLoop) and is_shared(step, kernels)
        if not is_loop and not isinstance(step, Barrier):
            since.append(step)
            continue
        if since:
            yield tuple(_chains(since, kernels))
            since = []
        if isinstance(step, DriverLoop):
            yield step
    if since:
        yield tuple(_chains(since, kernels))


def is_shared(loop: DriverLoop, kernels: Sequence[Kernel]) -> bool:
    """Whether the iterations of a loop have phases: it has shared work, or completes records."""
    return loop.outermost or any(_is_shared(step, kernels) for step in loop.body)


def _is_shared(step: Step, kernels: Sequence[Kernel]) -> bool:
    if isinstance(step, Call):
        return kernels[step.kernel].is_shared
    return isinstance(step, DriverLoop) and is_shared(step, kernels)


def _chains(steps: Sequence[Step], kernels: Sequence[Kernel]) -> Iterator[Chain]:
    """The steps of a phase, those together that one worker has to do; serial ones come first."""
    found: dict[Hashable, list[Step]] = {}
    for step in steps:
        found.setdefault(_key(step, kernels), []).append(step)
    for key in sorted(found, key=lambda key: key != ()):
        first = found[key][0]
        kernel = kernels[first.kernel] if isinstance(first, Call) else None
        if key == () or kernel is None:
            yield Chain(tuple(found[key]))
        else:
            of = [kernels[step.kernel] for step in found[key] if isinstance(step, Call)]
            slices = max((n for k in of for n in k.slices), default=0)
            yield Chain(tuple(found[key]), kernel.parallel, kernel.along, kernel.sliced, slices)


def _key(step: Step, kernels: Sequence[Kernel]) -> Hashable:
    """Equal for steps whose items are the same."""
    kernel = kernels[step.kernel] if isinstance(step, Call) else None
    if kernel is None or not kernel.is_shared:
        return ()
    spans = (kernel.parallel, kernel.along)
    return kernel.sliced, *((s.lo, s.hi) if s is not None else None for s in spans)
