"""Values of two points of one dimension, which a recurrence reads of pairs that it has already."""

from __future__ import annotations

from collections.abc import Callable

import ostinato as ot
from ostinato.language.dims import Dimension
from ostinato.language.recurrent import Recurrent
from ostinato.language.tensor import Tensor
from tests.property.constructs.table import Step, Workshop, construct, place, ragged

Range = Callable[[Dimension], slice]

RANGES: tuple[Range, ...] = (
    lambda d: slice(0, d),
    lambda d: slice(ot.maximum(d - 3, 0), d),
    lambda d: slice(d - d % 3, d),
    lambda d: slice(0, (d + 1) // 2),
    lambda d: slice(d + 1, d.size),
)


def over_pairs(
    w: Workshop, s: Step, d: Dimension, x: Tensor
) -> tuple[Recurrent, Dimension, Tensor]:
    """A recurrence over ``d``, another index ``e`` of its steps, and a value over both."""
    e = ot.dim(f"e{w.number}", size=d.size)
    h = ot.recurrent(f"p{w.number}", x.shape, x.dtype, over=w.over(x))
    z = ot.where(x > -0.5, ot.tanh(place(h, d, e) * x), 0.25)
    return h, e, ot.cumsum(z, -1) * 0.5 if s.b % 2 and x.ndim else z


@construct("pairs", "pairs", "pairs_read_twice", "pairs_read_outside")
def pairs(w: Workshop, s: Step) -> Tensor | None:
    """``h[d] = x + sum(f(h[e], x[d]) for e < d)``, with ``f`` over ``d`` and ``e``."""
    d, x = w.along(s), w.real(s)
    if d is None or ragged(x):
        return None
    h, e, z = over_pairs(w, s, d, x)
    part = RANGES[(s.a + s.c) % len(RANGES)](d)
    total = place(z, e, part).sum(0) * 0.25
    if s.op == "pairs_read_twice" and part.stop is d:
        total = total + place(z, e, slice(ot.maximum(d - 2, 0), d)).sum(0) * 0.1
    h[True] = x * 0.5 + total
    return h + place(z, e, slice(None)).mean(0) if s.op == "pairs_read_outside" else h


@construct("pairs", wild=True)
def pairs_of_pairs(w: Workshop, s: Step) -> Tensor | None:
    """The same, where a value of one pair needs that of an earlier one."""
    d, x = w.along(s), w.real(s)
    if d is None or ragged(x):
        return None
    h, e, z = over_pairs(w, s, d, x)
    part = RANGES[(s.a + s.c) % (len(RANGES) - 1)](d)  # the last one needs later pairs
    h[True] = x * 0.5 + place(z + place(z, e, e // 2) * 0.5, e, part).sum(0) * 0.25
    return h
