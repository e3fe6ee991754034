"""Functions of a whole axis: running values, orders, positions."""

from __future__ import annotations

from collections.abc import Callable

import ostinato as ot
from ostinato.language.dims import Dimension
from ostinato.language.tensor import Tensor
from tests.property.constructs.arrays import spread
from tests.property.constructs.slices import SPANS
from tests.property.constructs.table import Step, Workshop, construct, place

Axis = int
WHOLE: dict[str, Callable[[Tensor, Axis], Tensor]] = {
    "running_product": lambda x, k: ot.cumprod(ot.sin(x), axis=k),
    "running_max": lambda x, k: ot.cummax(x, axis=k),
    "running_min": lambda x, k: ot.cummin(x, axis=k),
    "running_logsumexp": lambda x, k: ot.logcumsumexp(x, axis=k),
    "running_sum": lambda x, k: ot.cumsum(x, axis=k) * 0.3,
    "linear_steps": lambda x, k: ot.linear_recurrence(ot.tanh(x) * 0.9, x, axis=k),
    "linear_back": lambda x, k: ot.linear_recurrence(ot.sigmoid(x), x, axis=k, reverse=True),
    "sorted": lambda x, k: ot.sort(x, axis=k),
    "sorted_down": lambda x, k: ot.sort(x * 0.5, axis=k, descending=True),
    "order": lambda x, k: ot.argsort(ot.floor(x * 3.0), axis=k).cast(x.dtype) * 0.25 + x,
    "median": lambda x, k: ot.median(x, axis=k, keepdims=True) - x,
    "ordered_by_another": lambda x, k: ot.take_along_axis(x, ot.argsort(-x, axis=k), axis=k),
}


@construct("whole axes", *WHOLE)
def whole(w: Workshop, s: Step) -> Tensor | None:
    """On an axis of constant size."""
    x = w.array(s)
    return None if x is None else WHOLE[s.op](x, -1 - s.c % x.ndim)


def stretch(w: Workshop, s: Step) -> tuple[Tensor, Dimension] | None:
    """A slice of a dim as the leading axis, of any size from 1; steps beyond an end are 0."""
    d, x = w.along(s), w.real(s)
    if d is None or x.ndim > 1 or any(not n.is_const for n in x.node.shape):
        return None
    names = sorted(SPANS)
    return place(x, d, SPANS[names[s.b % len(names)]](d, s.c)).filled(0.0), d


@construct("whole axes", "whole_of_slice")
def of_slice(w: Workshop, s: Step) -> Tensor | None:
    """Along the axis that a slice has made; what follows sees the end of it."""
    found = stretch(w, s)
    if found is None:
        return None
    names = sorted(WHOLE)
    return WHOLE[names[(s.b + 3 * s.c) % len(names)]](found[0], 0).mean(0)


@construct("whole axes")
def best_two(w: Workshop, s: Step) -> Tensor | None:
    x = w.array(s)
    if x is None or x.node.shape[-1].const < 2:
        return None
    values, positions = ot.top_k(x, 2)
    return values[..., 0] - values[..., 1] if s.c > 1 else positions.cast(x.dtype) * 0.25


@construct("whole axes", "search_left", "search_right")
def search(w: Workshop, s: Step) -> Tensor | None:
    x = w.array(s)
    if x is None:
        return None
    side = s.op.removeprefix("search_")
    return ot.searchsorted(ot.constant([-0.5, 0.0, 0.25, 0.6]).cast(x.dtype), x, side=side)


@construct("whole axes", "scatter", "scatter_some")
def scatter(w: Workshop, s: Step) -> Tensor | None:
    """Sums at positions that follow from values; some fall outside and drop out."""
    x = w.array(s)
    if x is None:
        return None
    if s.op == "scatter":
        return ot.scatter_add(x, spread(x) + 1, size=4, axis=-1) * 0.5
    index = ot.constant([2, 0, 2]) if str(x.node.shape[0]) == "3" else ot.constant([1, 1])
    return ot.scatter_add(x, index, size=3, axis=0) if str(x.node.shape[0]) in "23" else None


@construct("whole axes")
def scatter_history(w: Workshop, s: Step) -> Tensor | None:
    """A histogram of a slice of a dim."""
    found = stretch(w, s)
    if found is None or found[0].ndim != 1:
        return None
    x = found[0]
    return ot.scatter_add(x, spread(x) + 2, size=4, axis=0) * 0.25
