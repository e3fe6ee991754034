"""Expressions read outside their box, where their operands have values all the same."""

from __future__ import annotations

from collections.abc import Callable

import ostinato as ot
from ostinato.language.dims import Dimension, IndexExpression
from ostinato.language.tensor import Tensor
from tests.property.constructs.extents import half_angle
from tests.property.constructs.slices import folded
from tests.property.constructs.table import Step, Workshop, construct, place, ragged

EMPTY_FOLDS = ("sum", "prod", "max", "min", "discounted", "logsumexp", "argmax", "mean")
Span = Callable[[Dimension, int], slice]

# Slices that hold fewer and fewer steps where the point leaves the box, and none further out.
SHRINKING: dict[str, Span] = {
    "prefix": lambda d, c: slice(None, d + 1),
    "clipped_prefix": lambda d, c: slice(None, ot.maximum(d + 1, 0)),
    "suffix": lambda d, c: slice(d, None),
    "clipped_suffix": lambda d, c: slice(ot.minimum(d, d.size), None),
    "strict_past": lambda d, c: slice(None, ot.maximum(d, 0)),
    "window": lambda d, c: slice(ot.maximum(d - c, 0), ot.maximum(d + 1, 0)),
    "around": lambda d, c: slice(ot.maximum(d - c, 0), ot.minimum(d + c, d.size)),
    "strided": lambda d, c: slice(ot.maximum(d, 0), None, c + 1),
}
AWAY: dict[str, Callable[[Dimension, int], IndexExpression]] = {
    "before": lambda d, c: d - 1,
    "long_before": lambda d, c: d - c,
    "after": lambda d, c: d + 1,
    "long_after": lambda d, c: d + c,
    "mirrored": lambda d, c: d.size - d,
    "doubled": lambda d, c: 2 * d - c,
}


def away(s: Step, d: Dimension) -> IndexExpression:
    names = sorted(AWAY)
    return AWAY[names[(s.b + s.c) % len(names)]](d, s.c)


@construct("reads outside", *(f"outside_of_{name}" for name in SHRINKING), wild=True)
def fold_outside(w: Workshop, s: Step) -> Tensor | None:
    """A fold of a range, read where the range is empty."""
    d, x = w.along(s), w.real(s)
    if d is None or x.ndim > 1 or ragged(x):
        return None
    span = SHRINKING[s.op.removeprefix("outside_of_")](d, s.c)
    fold = EMPTY_FOLDS[s.b % len(EMPTY_FOLDS)]
    return place(folded(place(x, d, span), fold), d, away(s, d))


@construct("reads outside", wild=True)
def delta_of_returns(w: Workshop, s: Step) -> Tensor | None:
    """``r + g S[t + 1] - S`` with a discounted sum, which is 0 after the last step."""
    d, x = w.along(s), w.real(s)
    if d is None or x.ndim > 1 or ragged(x):
        return None
    sums = ot.discounted_sum(place(x, d, slice(d, None)), 0.9)
    return x + 0.9 * place(sums, d, d + s.c) - sums


@construct("reads outside", "draw_before", "draw_after", "bits_outside", wild=True)
def draw_outside(w: Workshop, s: Step) -> Tensor:
    """A draw is a function of its point, wherever that is."""
    d = w.dim(s)
    shape = ((), (3,))[s.b % 2]
    if s.op == "bits_outside":
        bits = ot.random.integers(0, 1000, shape, over=w.dims)
        return place(bits, d, away(s, d)) % 97
    made = ot.random.normal if s.c == 3 else ot.random.uniform
    unit = made(shape, over=w.dims, dtype=w.dtype)
    return place(unit, d, d - s.c if s.op == "draw_before" else d + s.c)


CHOICES: dict[str, Callable[[Tensor, Dimension, int], Tensor]] = {
    "inside_else_number": lambda x, d, c: ot.where(d >= 0, x, 7.0),
    "inside_else_step": lambda x, d, c: ot.where((d >= 0) & (d < d.size), x, d + 0.5),
    "early_else_number": lambda x, d, c: ot.where(d < d.size, x, -3.0),
    "shifted_inside": lambda x, d, c: ot.where(d >= c, place(x, d, d - c), 0.25),
    "clipped": lambda x, d, c: place(x, d, ot.maximum(ot.minimum(d, d.size - 1), 0)) + 0.5,
    "wrapped": lambda x, d, c: place(x, d, ot.minimum(d % (c + 1), d.size - 1)) * 0.5,
    "step_alone": lambda x, d, c: ot.index(d * c - 2).cast(x.dtype) * 0.25,
    "sum_of_draw_and_step": lambda x, d, c: ot.random.uniform(over=d, dtype=x.dtype) + d,
}


@construct("reads outside", *CHOICES, wild=True)
def choice_outside(w: Workshop, s: Step) -> Tensor | None:
    d, x = w.along(s), w.real(s)
    if d is None:
        return None
    made = CHOICES[s.op](x, d, s.c)
    return place(made, d, away(s, d)) if d.name in {e.name for e in made.over} else None


@construct("reads outside", wild=True)
def slice_outside(w: Workshop, s: Step) -> Tensor | None:
    """A window of a total expression that leaves its box on both sides."""
    d, x = w.along(s), w.real(s)
    if d is None or x.ndim > 1 or ragged(x):
        return None
    total = ot.where((d >= 0) & (d < d.size), x, 0.5 * d) if s.b % 2 else ot.random.uniform(
        over=w.dims, dtype=w.dtype)  # fmt: skip
    spans = (slice(d - 2, d + 1), slice(d, d + 3), slice(d - 1, d + 2), slice(d - d.size, d))
    return folded(place(total, d, spans[(s.b // 2) % 4]), EMPTY_FOLDS[s.c])


@construct("reads outside", wild=True)
def outside_twice(w: Workshop, s: Step) -> Tensor | None:
    """Outside of outside: a read of a sum of reads."""
    d, x = w.along(s), w.real(s)
    if d is None or x.ndim > 1 or ragged(x):
        return None
    sums = place(x, d, slice(None, d + 1)).sum(0)
    return place(place(sums, d, d - 1) + sums, d, ot.maximum(d - s.c, -1 if s.b % 2 else 0))


@construct("reads outside", wild=True)
def recurrence_of_outside(w: Workshop, s: Step) -> Tensor | None:
    """A recurrence whose steps read a value before its first step."""
    d, x = w.along(s), w.real(s)
    if d is None or x.ndim > 1 or ragged(x):
        return None
    sums = place(x, d, slice(None, d + 1)).sum(0) * 0.25
    r = ot.recurrent(f"o{w.number}", x.shape, x.dtype, over=w.over(x))
    r[tuple(0 if e.name == d.name else e for e in w.over(x))] = place(x, d, 0)
    r[True] = 0.5 * place(r, d, d - 1) + place(sums, d, d - s.c)
    return r - place(sums, d, d - 1)


@construct("reads outside", wild=True)
def call_outside(w: Workshop, s: Step) -> Tensor | None:
    """A call of Python is a leaf: it is not made where there is no step."""
    d, x = w.along(s), w.real(s)
    if d is None or ragged(x):
        return None
    found = ot.host(half_angle, ot.index(d).cast(w.dtype), shape=(), dtype=w.dtype)
    assert isinstance(found, Tensor)
    return ot.where(d > 0, place(found, d, d - 1), x) if s.b % 2 else place(found, d, d - 1)
