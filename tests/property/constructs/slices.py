"""Slices of dims, folded or kept as axes."""

from __future__ import annotations

from collections.abc import Callable

import ostinato as ot
from ostinato.language.dims import Dimension, IndexExpression
from ostinato.language.tensor import Tensor
from tests.property.constructs.table import Step, Workshop, construct, place, ragged

# Slices that stay inside the box and hold at least one step.
SPANS: dict[str, Callable[[Dimension, int], slice]] = {
    "full": lambda d, c: slice(None, None),
    "prefix": lambda d, c: slice(None, d + 1),
    "suffix": lambda d, c: slice(d, None),
    "window": lambda d, c: slice(ot.maximum(d - c, 0), d + 1),
    "future": lambda d, c: slice(d, ot.minimum(d + c + 1, d.size)),
    "around": lambda d, c: slice(ot.maximum(d - c, 0), ot.minimum(d + c + 1, d.size)),
    "half_open": lambda d, c: slice(d // 2, d + 1),
    "blocks": lambda d, c: slice(d // (c + 1) * (c + 1), d + 1),
    "every_other": lambda d, c: slice(None, None, c + 1),
    "strided": lambda d, c: slice(d % 2, None, 2) if c == 1 else slice(d, None, c),
    "strided_past": lambda d, c: slice(d % (c + 1), d + 1, c + 1),
    "last_steps": lambda d, c: slice(ot.maximum(d.size - c, 0), None),
    "first_steps": lambda d, c: slice(0, ot.minimum(c, d.size)),
    "mirrored": lambda d, c: slice(0, d.size - d),
    "doubling": lambda d, c: slice(None, ot.minimum(2 * d + 1, d.size)),
}

# Slices of one dim whose ends another dim moves.
CROSSED: dict[str, Callable[[Dimension, Dimension, int], slice]] = {
    "up_to_other": lambda d, e, c: slice(None, ot.minimum(e + 1, d.size)),
    "from_other": lambda d, e, c: slice(ot.minimum(e, d.size - 1), None),
    "triangle": lambda d, e, c: slice(ot.minimum(d, e), d + 1),
    "sum_ends": lambda d, e, c: slice(d, ot.minimum(d + e + 1, d.size)),
}

FOLDS = (
    "sum",
    "mean",
    "max",
    "min",
    "discounted",
    "prod",
    "var",
    "logsumexp",
    "weighted",
    "argmax",
)


def folded(x: Tensor, fold: str) -> Tensor:
    """Fold the leading axis of at least one element."""
    match fold:
        case "discounted":
            return ot.discounted_sum(x, 0.9)
        case "sum":
            return x.sum(0) * 0.25
        case "prod":
            return ot.sin(x).prod(0)
        case "logsumexp":
            return ot.logsumexp(x, 0)
        case "weighted":
            return (ot.softmax(x, axis=0) * x).sum(0)
        case "argmax":
            return x.argmax(0).cast(x.dtype) * 0.125
        case "var":
            return x.var(0)
        case _:
            return {"mean": x.mean, "max": x.max, "min": x.min}[fold](0)


@construct("slices", *SPANS)
def span(w: Workshop, s: Step) -> Tensor | None:
    d = w.along(s)
    if d is None or w.any(s).ndim > 2:
        return None
    return folded(place(w.real(s), d, SPANS[s.op](d, s.c)), s.fold)


@construct("slices")
def strict(w: Workshop, s: Step) -> Tensor | None:
    """The steps before: none at the first."""
    d = w.along(s)
    if d is None or w.any(s).ndim > 2:
        return None
    x = place(w.real(s), d, slice(None, d) if s.c % 2 else slice(d + 1, None))
    return x.prod(0) if s.fold == "prod" else x.sum(0) * 0.25


@construct("slices", *CROSSED)
def crossed(w: Workshop, s: Step) -> Tensor | None:
    d, e = w.along(s), w.second(s)
    if d is None or e is None or w.any(s).ndim > 2:
        return None
    return folded(place(w.real(s), d, CROSSED[s.op](d, e, s.c)), s.fold)


@construct("slices", "two_slices", "slice_and_point")
def both(w: Workshop, s: Step) -> Tensor | None:
    """Two dims indexed at once, at least one by a slice."""
    d, e = w.along(s), w.second(s)
    if d is None or e is None or w.any(s).ndim > 1:
        return None
    names = sorted(SPANS)
    first, second = SPANS[names[s.b % len(names)]], SPANS[names[(s.b * 3 + s.c) % len(names)]]
    if s.op == "slice_and_point":
        at = ot.maximum(e - s.c, 0) if s.b % 2 else e.size - 1 - e
        chosen: dict[str, slice | IndexExpression] = {d.name: first(d, s.c), e.name: at}
        return folded(w.real(s).at(**chosen), s.fold)
    x = w.real(s).at(**{d.name: first(d, s.c), e.name: second(e, 1)})
    return x.mean((0, 1)) if s.fold == "mean" else x.sum((0, 1)) * 0.1


@construct("slices")
def slice_of_slice(w: Workshop, s: Step) -> Tensor | None:
    """A fold of a window of a fold of a window."""
    d = w.along(s)
    if d is None or w.any(s).ndim > 2:
        return None
    inner = place(w.real(s), d, slice(ot.maximum(d - s.c, 0), d + 1)).sum(0) * 0.5
    return place(inner, d, slice(d, ot.minimum(d + 2, d.size))).max(0)


@construct("slices")
def kept(w: Workshop, s: Step) -> Tensor | None:
    """A slice that stays an axis, whose size may depend on the point."""
    d = w.along(s)
    if d is None or w.any(s).ndim > 1:
        return None
    names = sorted(SPANS)
    return place(w.any(s), d, SPANS[names[s.b % len(names)]](d, s.c))


@construct("slices")
def fold_kept(w: Workshop, s: Step) -> Tensor | None:
    """Values computed along an axis that a slice has made, then folded."""
    d = w.along(s)
    if d is None or w.any(s).ndim > 1:
        return None
    names = sorted(SPANS)
    x = place(w.real(s), d, SPANS[names[s.b % len(names)]](d, s.c))
    return folded(ot.tanh(x) * 0.5 + w.as_real(w.pool[0]).sum() * 0.1, s.fold)


@construct("slices")
def part_of_kept(w: Workshop, s: Step) -> Tensor | None:
    """An element of an axis that a slice has made."""
    d = w.along(s)
    if d is None or w.any(s).ndim > 1:
        return None
    x = place(w.any(s), d, slice(None, d + 1))
    return x[..., 0, :] if x.ndim == 2 else x[..., d]


@construct("slices")
def outer_of_slices(w: Workshop, s: Step) -> Tensor | None:
    """Products of all pairs of steps of a window, contracted: attention without weights."""
    d = w.along(s)
    x = w.real(s)
    if d is None or x.ndim != 1 or not isinstance(x.shape[0], int):
        return None
    keys = place(x, d, slice(None, d + 1))
    weights = ot.softmax(keys @ x, axis=-1) if s.c % 2 else ot.tanh(keys @ x) * 0.2
    return weights @ keys


@construct("slices", "merged_argmax", "merged_last", "merged_rest", "merged_step")
def merged(w: Workshop, s: Step) -> Tensor | None:
    """All steps of two dims as one axis, read by one position."""
    x, d, e = w.real(s), w.along(s), w.second(s)
    if d is None or e is None or ragged(x):
        return None
    rows = x.sum() if x.ndim else x
    flat = rows.at(**{d.name: slice(None), e.name: slice(None)}).filled(0.0).reshape(-1)
    match s.op:
        case "merged_argmax":
            return flat.argmax().cast(w.dtype) * 0.25
        case "merged_last":
            return flat[..., -1]
        case "merged_rest":
            return flat[..., 1:].sum(0) * 0.25
        case _:
            return flat[..., ot.minimum(2 * d, d.size * e.size - 1)]


FIXED: dict[str, Callable[[Tensor, int], Tensor]] = {
    "one_of_all": lambda x, c: x[..., c],
    "one_from_the_end": lambda x, c: x[..., -c],
    "some_of_all": lambda x, c: x[..., c - 1 : 2 * c].sum(-1),
    "what_lies_between": lambda x, c: x[..., 1:-c].sum(-1),
    "the_greatest_of_all": lambda x, c: ot.top_k(x, c)[0].sum(-1) * 0.5,
}


@construct("slices", *FIXED, wild=True)
def fixed(w: Workshop, s: Step) -> Tensor | None:
    """Constant positions on an axis of all steps, which set the least extent."""
    d, x = w.along(s), w.real(s)
    if d is None or x.ndim or ragged(x):
        return None
    return FIXED[s.op](place(x, d, slice(None)), s.c)
