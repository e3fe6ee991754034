"""Sizes that depend on the point, of constants too; squares, and axes longer than a vector."""

from __future__ import annotations

from collections.abc import Callable

import ostinato as ot
from ostinato.language.dims import Dimension
from ostinato.language.tensor import Tensor
from tests.property.constructs.table import Step, Workshop, construct, place, ragged

SIZED: dict[str, Callable[[Tensor, Dimension], Tensor]] = {
    "ones_times_rest": lambda x, d: ot.ones((d.size - d,), x.dtype) * place(x, d, slice(d, None)),
    "steps_of_rest": lambda x, d: ot.arange(d.size - d) * place(x, d, slice(d, None)),
    "weights_of_past": lambda x, d: ot.arange(d + 1) * 0.1 + place(x, d, slice(None, d + 1)),
    "full_past": lambda x, d: ot.full((d + 1,), 0.5, x.dtype) * place(x, d, slice(None, d + 1)),
    "powers_of_gamma": lambda x, d: ot.cumprod(ot.full((d + 1,), 0.9, x.dtype), 0) * x,
    "sums_of_steps": lambda x, d: ot.cumsum(ot.arange(d.size - d), 0) * x,
    "zeros_joined": lambda x, d: ot.concatenate(
        [place(x, d, slice(None, d + 1)), ot.zeros((d.size - d - 1,), x.dtype)]
    ),
    "joined_past_and_rest": lambda x, d: ot.concatenate(
        [place(x, d, slice(d, None)), place(x, d, slice(None, d))]
    ),
    "reversed_past": lambda x, d: ot.flip(place(x, d, slice(None, d + 1)), 0),
    "sorted_rest": lambda x, d: ot.sort(place(x, d, slice(d, None)), 0),
    "repeated_value": lambda x, d: ot.broadcast_to(x, (d + 1,)),
    "window_of_past": lambda x, d: place(x, d, slice(None, d + 1))[..., d // 2 :],
    "step_of_past": lambda x, d: place(place(x, d, slice(None, d + 1)), d, slice(d, d + 1)).sum(0),
    "steps_of_past": lambda x, d: place(place(x, d, slice(None, d + 1)), d, slice(d // 2, d + 1)),
}


@construct("sizes of the point", *SIZED, wild=True)
def sized(w: Workshop, s: Step) -> Tensor | None:
    """An axis as long as the point says, kept or folded."""
    d, x = w.along(s), w.real(s)
    if d is None or x.ndim:
        return None
    found = SIZED[s.op](x, d)
    if s.b % 4 == 0:
        return found
    return (found.sum(0), found.max(0), found.mean(0))[s.c - 1]


SQUARES: dict[str, Callable[[Tensor, Dimension], Tensor]] = {
    "outer_of_past": lambda x, d: x[:, None] * x[None, :],
    "distances": lambda x, d: ot.abs(x[:, None] - x[None, :]),
    "gram_of_past": lambda x, d: x[:, None] @ x[None, :],
    "lower_of_past": lambda x, d: ot.where(x[:, None] >= x[None, :], x[:, None], 0.0),
}


@construct("sizes of the point", *SQUARES, wild=True)
def square(w: Workshop, s: Step) -> Tensor | None:
    """A matrix of all pairs of steps of a range, folded."""
    d, x = w.along(s), w.real(s)
    if d is None or x.ndim:
        return None
    spans = (slice(None), slice(None, d + 1), slice(d, None))
    pairs = SQUARES[s.op](place(x, d, spans[s.c - 1]), d)
    return (pairs.sum((0, 1)), pairs.max(0).sum(0), pairs.mean(1).max(0))[s.b % 3]


@construct("sizes of the point", "whole_rows", "rows_by_columns", "triangle_of_rows", wild=True)
def plane(w: Workshop, s: Step) -> Tensor | None:
    """Two dims as the axes of one matrix."""
    d, e, x = w.along(s), w.second(s), w.real(s)
    if d is None or e is None or x.ndim or ragged(x):
        return None
    rows = x.at(**{d.name: slice(None), e.name: slice(None)})
    if s.op == "whole_rows":
        return rows.sum(s.c % 2) * 0.5
    if s.op == "triangle_of_rows":
        return x.at(**{d.name: slice(None, d + 1), e.name: slice(e, None)}).sum((0, 1)) * 0.1
    return (ot.swapaxes(rows, 0, 1) @ rows).sum(0) * 0.1
