"""Ranges that are empty, or end before they begin, at some points or at all; empty axes."""

from __future__ import annotations

from collections.abc import Callable

import ostinato as ot
from ostinato.language.dims import Dimension
from ostinato.language.tensor import Tensor
from tests.property.constructs.slices import FOLDS, folded
from tests.property.constructs.table import Step, Workshop, construct, place, ragged

EMPTY: dict[str, Callable[[Dimension, Dimension, int], slice]] = {
    "never_begins": lambda d, e, c: slice(d, d),
    "at_the_end": lambda d, e, c: slice(d.size, None),
    "of_zero": lambda d, e, c: slice(0, 0),
    "late": lambda d, e, c: slice(ot.minimum(d + c, d.size), None),
    "long_ago": lambda d, e, c: slice(None, ot.maximum(d - c, 0)),
    "strided_late": lambda d, e, c: slice(ot.minimum(d * c, d.size), None, c + 1),
    "up_to_product": lambda d, e, c: slice(0, ot.minimum(d * c, d.size)),
    "kept_in_order": lambda d, e, c: slice(
        ot.minimum(d, d.size), ot.maximum(ot.minimum(d, d.size), ot.minimum(e, d.size))
    ),
    "reversed_by_one": lambda d, e, c: slice(d + 1, d),
    "reversed_sometimes": lambda d, e, c: slice(d, ot.minimum(e, d.size)),
    "reversed_far": lambda d, e, c: slice(d.size - 1, d // (c + 1)),
    "beyond": lambda d, e, c: slice(d, d + c),
    "half_of_nothing": lambda d, e, c: slice(d // 2, (d + 1) // 2),
}


@construct("empty ranges", *EMPTY, wild=True)
def span_of_nothing(w: Workshop, s: Step) -> Tensor | None:
    d, x = w.along(s), w.real(s)
    if d is None or x.ndim > 1 or ragged(x):
        return None
    e = w.dims[(s.dim + s.c) % len(w.dims)]
    taken = place(x, d, EMPTY[s.op](d, e, s.c))
    if s.b % 5 == 4:  # a function of the empty axis before its fold
        taken = ot.cumsum(taken, 0) if s.b % 2 else ot.sort(taken, 0)
    return folded(taken, s.fold)


AXIS: dict[str, Callable[[Tensor, str], Tensor]] = {
    "fold_of_no_elements": lambda x, fold: folded(ot.swapaxes(x[..., :0], 0, -1), fold),
    "joined_with_nothing": lambda x, fold: ot.concatenate([x[..., :0], x, x[..., :0]], -1),
    "softmax_of_nothing": lambda x, fold: ot.softmax(x[..., :0], -1).sum(-1),
    "running_sum_of_nothing": lambda x, fold: ot.cumsum(x[..., :0], -1).sum(-1),
    "order_of_nothing": lambda x, fold: ot.sort(x[..., :0], -1).sum(-1),
    "product_of_nothing": lambda x, fold: x[..., :0].reshape(-1, 0) @ ot.ones((0, 2), x.dtype),
    "kept_nothing": lambda x, fold: x[..., :0] * 2.0,
    "ones_of_nothing": lambda x, fold: ot.ones((0,), x.dtype).sum() + x,
    "padded_nothing": lambda x, fold: ot.pad(x[..., :0], (1, 1)),
}


@construct("empty ranges", *AXIS, wild=True)
def axis_of_nothing(w: Workshop, s: Step) -> Tensor | None:
    x = w.array(s)
    return None if x is None else AXIS[s.op](x, FOLDS[s.b % len(FOLDS)])
