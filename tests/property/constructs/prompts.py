"""Histories that begin with a prompt, and windows of them, one after the other."""

from __future__ import annotations

import ostinato as ot
from ostinato.language.dims import Dimension
from ostinato.language.tensor import Tensor
from tests.property.constructs.products import waves
from tests.property.constructs.table import Step, Workshop, construct, place, ragged

WIDTHS = (9, 33, 64)  # of rows: below, above and far above a vector


def windowed(h: Tensor, d: Dimension, c: int, ahead: int) -> Tensor:
    """A value times the last few of its like."""
    size = h.node.shape[0].const if h.ndim else 0
    mixed = size and c != 2
    y = ot.tanh(h @ waves(size, size, ot.zeros())) if mixed else h * 0.7 + 0.1
    low = ot.maximum(d - (2 * c + 1), 0)
    past = place(y, d, slice(low, d + 1) if ahead % 2 else slice(ot.maximum(d - c, 0), d + 1))
    return (past * y).sum(0) * 0.25


@construct("prompts", "prompt", "prompt_of_row", "prompt_from_the_end", wild=True)
def prompt(w: Workshop, s: Step) -> Tensor | None:
    """``h[t < P] = prompt[t]``, then one to three windows in a row, whose last one goes on."""
    d, e, x = w.along(s), w.second(s), w.real(s)
    if d is None or e is None or x.ndim > 1 or ragged(x):
        return None
    given = place(x, d, 0)  # over the dim of the prompt
    if s.op == "prompt_of_row":
        given = (
            given.reshape(-1)[..., :1] * waves(1, WIDTHS[s.c - 1], ot.zeros((), x.dtype))[..., 0, :]
        )
    over = (*(f for f in w.over(x) if f.name not in (d.name, e.name)), d)
    h = ot.recurrent(f"p{w.number}", given.shape, x.dtype, over=over)
    if s.op == "prompt_from_the_end":
        h[d >= d.size - e.size] = place(given, e, d.size - 1 - d)
        h[True] = ot.tanh(place(h, d, d + 1))
        return h
    h[d < e.size] = place(given, e, d)
    y: Tensor = h
    for _ in range(s.c):
        y = windowed(y, d, s.c, s.b)
    h[True] = ot.tanh(place(y, d, d - 1))
    return y if s.b % 3 else h


@construct("prompts", wild=True)
def prompt_of_constant_length(w: Workshop, s: Step) -> Tensor | None:
    """The first few steps are given; the rest reads windows of windows of what is there."""
    d, x = w.along(s), w.real(s)
    if d is None or x.ndim > 1 or ragged(x):
        return None
    h = ot.recurrent(f"p{w.number}", x.shape, x.dtype, over=w.over(x))
    h[d < s.c] = x
    y = windowed(windowed(h, d, s.c, s.b), d, 1, s.b + 1)
    h[True] = ot.tanh(place(y, d, d - 1)) + 0.1 * x
    return h
