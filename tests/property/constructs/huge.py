"""Index expressions with constants near the ends of 32 and 64 bits; many are refused."""

from __future__ import annotations

import sys
from collections.abc import Callable

import ostinato as ot
from ostinato.language.dims import Condition, Dimension, IndexExpression
from ostinato.language.tensor import Tensor
from tests.property.constructs.slices import folded
from tests.property.constructs.table import Step, Workshop, construct, place, ragged

HUGE = (
    (2**31, 2**32 + 1, 2**40, 2**61 + 12345, 2**62 + 7, 2**63 - 1, 2**63, 2**64 + 3, 10**30)
    + (2**28 + 1, 2**29, 3 * 2**25)  # as factors they leave 32 bits, but not 64
)


def huge(s: Step) -> int:
    return HUGE[(s.b + 3 * s.c) % len(HUGE)]


RANGES: dict[str, Callable[[Dimension, int], slice]] = {
    "far_window": lambda d, k: slice(d, ot.minimum(d + k, d.size)),
    "far_past": lambda d, k: slice(ot.maximum(d - k, 0), d + 1),
    "as_far_as_words": lambda d, k: slice(d, ot.minimum(d + sys.maxsize, d.size)),
    "far_steps": lambda d, k: slice(None, None, k),
    "far_product": lambda d, k: slice(0, ot.minimum(k * d, d.size)),
}
POINTS: dict[str, Callable[[Dimension, int], IndexExpression]] = {
    "huge_product": lambda d, k: ot.minimum(k * d, d.size - 1),
    "huge_product_back": lambda d, k: ot.maximum(d.size - 1 - k * d, 0),
    "huge_quotient": lambda d, k: d // k,
    "huge_remainder": lambda d, k: d % k,
    "huge_cycle": lambda d, k: ot.minimum((k * d + 5) % 7, d.size - 1),
    "huge_share": lambda d, k: ot.minimum((k * d) // (k - 1), d.size - 1),
    "huge_shift": lambda d, k: ot.maximum(ot.minimum(d + k, d.size - 1), 0),
    "huge_shift_back": lambda d, k: ot.maximum(d - k, 0),
    "huge_there_and_back": lambda d, k: d + k - k,
}
CONDITIONS: dict[str, Callable[[Dimension, int], Condition]] = {
    "huge_bound": lambda d, k: k * d < 5,
    "huge_equal": lambda d, k: k * d == k,
    "beyond_huge": lambda d, k: d < k,
    "huge_odd": lambda d, k: (k * d) % 3 == 1,
    "huge_sum": lambda d, k: k * d + k * d.size > k * 3,
}


@construct("huge constants", *RANGES, wild=True)
def ranged(w: Workshop, s: Step) -> Tensor | None:
    d, x = w.along(s), w.real(s)
    if d is None or x.ndim > 1 or ragged(x):
        return None
    return folded(place(x, d, RANGES[s.op](d, huge(s))), s.fold)


@construct("huge constants", *POINTS, wild=True)
def read(w: Workshop, s: Step) -> Tensor | None:
    d = w.along(s)
    return None if d is None else place(w.any(s), d, POINTS[s.op](d, huge(s)))


@construct("huge constants", *CONDITIONS, wild=True)
def chosen(w: Workshop, s: Step) -> Tensor | None:
    d, y = w.dim(s), w.other(s)
    return None if y is None else ot.where(CONDITIONS[s.op](d, huge(s)), w.real(s), y * 0.5 + 1.0)


@construct("huge constants", "huge_value", "huge_value_of_product", wild=True)
def value(w: Workshop, s: Step) -> Tensor:
    """An index expression as a number, which has 32 bits."""
    d = w.dim(s)
    return ot.index(d + huge(s) if s.op == "huge_value" else d * huge(s) + s.c) // 3


@construct("huge constants", "huge_recurrence", wild=True)
def recurrence(w: Workshop, s: Step) -> Tensor | None:
    """A recurrence whose reads and cases have huge constants."""
    d, x = w.along(s), w.real(s)
    if d is None or ragged(x):
        return None
    r = ot.recurrent(f"g{w.number}", x.shape, x.dtype, over=w.over(x))
    r[d * huge(s) < 3] = x
    r[True] = 0.5 * place(r, d, ot.maximum(d - 1 - (d // huge(s)), 0)) + x
    return r
