"""Softmax-weighted sums over ranges, with scores that follow from both ends: attention."""

from __future__ import annotations

from collections.abc import Callable

import ostinato as ot
from ostinato.language.dims import Dimension
from ostinato.language.tensor import Tensor
from tests.property.constructs.slices import SPANS
from tests.property.constructs.table import Step, Workshop, construct, place

RANGES = ("full", "prefix", "suffix", "window", "future", "around", "half_open", "mirrored")

# The scores of a range, of rows of keys and one of queries, by the distance of each key.
SCORES: dict[int, Callable[[Tensor, Tensor, Tensor], Tensor]] = {
    1: lambda query, keys, away: query @ ot.swapaxes(keys, -1, -2),
    2: lambda query, keys, away: query @ ot.swapaxes(keys, -1, -2) * 0.5 - 0.2 * away,
    3: lambda query, keys, away: ot.tanh(query @ ot.swapaxes(keys, -1, -2)) * 3.0,
}


def attended(x: Tensor, values: Tensor, d: Dimension, span: slice, c: int) -> Tensor:
    """``x`` of shape (heads, features) asks, the steps of a range answer with ``values``."""
    keys = ot.swapaxes(place(x, d, span), 0, 1)
    away = ot.abs(place(ot.index(d) + 0.0 * x.sum(), d, span) - d)
    scores = SCORES[c](ot.expand_dims(x, 1) * 2.0, keys, away)
    answers = ot.swapaxes(place(values, d, span), 0, 1)
    return (ot.softmax(scores, axis=-1) @ answers)[..., 0, :]


@construct("attention", *(f"attention_over_{name}" for name in RANGES))
def attention(w: Workshop, s: Step) -> Tensor | None:
    """Each head of a point attends to a range; numbers and vectors are one head."""
    d, x = w.along(s), w.real(s)
    if d is None or x.ndim > 2 or any(not n.is_const or not n.const for n in x.node.shape):
        return None
    heads = x.reshape(*(1,) * (2 - x.ndim), *x.shape)
    values = ot.concatenate([heads, ot.cos(heads)], axis=-1) if s.b % 2 else heads
    span = SPANS[s.op.removeprefix("attention_over_")](d, s.c)
    found = attended(heads, values, d, span, s.c)
    return found.sum() if x.ndim == 0 else found[..., 0, :] if x.ndim == 1 else found


@construct("attention", *(f"weights_over_{name}" for name in RANGES))
def weighted_by_both(w: Workshop, s: Step) -> Tensor | None:
    """A softmax of a vector of scores that depend on the point, times numbers or vectors."""
    d, x = w.along(s), w.real(s)
    if d is None or x.ndim > 1 or any(not n.is_const or not n.const for n in x.node.shape):
        return None
    span = SPANS[s.op.removeprefix("weights_over_")](d, s.c)
    keys, query = place(x, d, span), ot.sin(x) * 2.0
    scores = (keys * query).sum(-1) if x.ndim else keys * query
    weights = ot.softmax(scores, axis=0) if s.c < 3 else ot.exp(scores - ot.logsumexp(scores, 0))
    return weights @ keys if s.b % 2 else (weights.reshape(-1, *(1,) * x.ndim) * keys).sum(0)
