"""Unusual ways to write usual things."""

from __future__ import annotations

from collections.abc import Callable

import ostinato as ot
from ostinato.language.dims import Dimension
from ostinato.language.tensor import Tensor
from tests.property.constructs.table import Step, Workshop, construct, place, ragged

SPELLED: dict[str, Callable[[Tensor], Tensor]] = {
    "plus_nothing": lambda x: x + 0,
    "times_one": lambda x: 1 * x * 1.0,
    "by_one": lambda x: x / 1.0 - 0.0,
    "squared": lambda x: x**2 + x**1 + x**0,
    "inverse_power": lambda x: (ot.abs(x) + 1.0) ** -1 + (ot.abs(x) + 1.0) ** -0.5,
    "minus_minus": lambda x: x - (-x) - (0 - x),
    "two_halves": lambda x: x / 2 + x / 2,
    "same_both_ways": lambda x: ot.where(x > 0, x, x),
    "always": lambda x: ot.where(ot.constant(True), x, ot.constant(float("nan"), x.dtype)),
    "truths_added": lambda x: ((x > 0) + (x < 0) + True).cast(x.dtype) * (x > 0),
    "clip_to_point": lambda x: ot.clip(x, 0.25, 0.25) + ot.clip(x, 1.0, -1.0),
    "wider_and_back": lambda x: x.cast("float64").cast("float32").cast("float64").cast(x.dtype),
    "by_integer": lambda x: ot.round(x * 8).cast("int64").cast("int32").cast("bool").cast(x.dtype),
    "mean_of_one": lambda x: ot.stack([x]).mean(0) + ot.stack([x]).var(0),
    "axes_moved_twice": lambda x: x[None, ..., None].T.T[0, ..., 0],
    "sum_of_nothing_new": lambda x: ot.expand_dims(x, 0).sum(0) + ot.concatenate([x[None]])[0],
    "ladder": lambda x: x + (x + (x + (x + (x - x)))),
    "true_division_of_integers": lambda x: ot.floor(x * 4).cast("int32") / 3 * 1.0,
    "reversed_operands": lambda x: 1 - x + (2 / (ot.abs(x) + 1)) - 3 % (ot.abs(x) + 1),
}


@construct("spellings", *SPELLED, wild=True)
def spelled(w: Workshop, s: Step) -> Tensor | None:
    x = w.real(s)
    return None if ragged(x) else SPELLED[s.op](x)


READ: dict[str, Callable[[Tensor, Dimension, int], Tensor]] = {
    "here": lambda x, d, c: place(x, d, d + 0),
    "here_by_halves": lambda x, d, c: place(x, d, 2 * d - d),
    "here_by_one": lambda x, d, c: place(x, d, d // 1 + d % 1),
    "here_by_min": lambda x, d, c: place(x, d, ot.minimum(d, d, d.size - 1)),
    "all_at": lambda x, d, c: place(x, d, slice(None))[d],
    "all_at_slice": lambda x, d, c: place(x, d, slice(0, d.size, 1))[d : d + 1].sum(0),
    "shift_back": lambda x, d, c: ot.where(
        d + c < d.size, place(place(x, d, d - c), d, d + c), x
    ),
    "part_of_slice": lambda x, d, c: place(x, d, slice(d // 2, d + 1))[..., d - d // 2]
    if c > 1 and not x.ndim else place(x, d, slice(d // 2, d + 1))[d - d // 2],
    "by_tensor": lambda x, d, c: x.at(  # the step of a point outside of its box is none
        **{d.name: ot.index(ot.maximum(ot.minimum(d, d.size - 1), 0))}),
    "reversed_twice": lambda x, d, c: place(place(x, d, d.size - 1 - d), d, d.size - 1 - d),
    "quotient_and_remainder": lambda x, d, c: place(x, d, (d // (c + 1)) * (c + 1) + d % (c + 1)),
    "last_of_past": lambda x, d, c: place(x, d, slice(None, d + 1))[-1] if c < 0 else place(
        x, d, slice(None, d + 1))[d],
    "twice_nested": lambda x, d, c: place(place(x, d, slice(None)), d, d)[d],
}  # fmt: skip


@construct("spellings", *READ, wild=True)
def read(w: Workshop, s: Step) -> Tensor | None:
    d, x = w.along(s), w.real(s)
    return None if d is None or ragged(x) else READ[s.op](x, d, s.c)
