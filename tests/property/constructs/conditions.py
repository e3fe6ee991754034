"""Choices on the point."""

from __future__ import annotations

from collections.abc import Callable

import ostinato as ot
from ostinato.language.dims import Condition, Dimension
from ostinato.language.tensor import Tensor
from tests.property.constructs.table import Step, Workshop, construct

CONDITIONS: dict[str, Callable[[Dimension, Dimension, int], Condition]] = {
    "early": lambda d, e, c: d < c,
    "final": lambda d, e, c: d >= d.size - c,
    "odd": lambda d, e, c: d % (c + 1) == 1,
    "below_diagonal": lambda d, e, c: e <= d,
    "on_diagonal": lambda d, e, c: d == e,
    "off_corner": lambda d, e, c: ~((d == 0) & (e == 0)),
    "either_end": lambda d, e, c: (d == 0) | (e == e.size - 1) | (d + e > c + 2),
    "nothing": lambda d, e, c: d < 0,
    "everything": lambda d, e, c: d + 1 > 0,
    "middle_half": lambda d, e, c: (4 * d >= d.size) & (4 * d < 3 * d.size),
}


@construct("conditions", *CONDITIONS)
def choice(w: Workshop, s: Step) -> Tensor | None:
    y = w.other(s)
    if y is None:
        return None
    d = w.dim(s)
    e = w.dims[(s.dim + s.c) % len(w.dims)]
    return ot.where(CONDITIONS[s.op](d, e, s.c), w.real(s), y * 0.5)


@construct("conditions")
def chain_of_choices(w: Workshop, s: Step) -> Tensor | None:
    d, x, y = w.dim(s), w.real(s), w.other(s)
    if y is None:
        return None
    return ot.where(d == 0, x, ot.where(d % 2 == 0, y, ot.where(x > 0.2, x - y, 0.5)))


@construct("conditions")
def condition_as_value(w: Workshop, s: Step) -> Tensor:
    """A condition on the point beside a tensor's own truth."""
    x = w.real(s)
    return ot.where((w.dim(s) % 2 == 0) & (x > 0.0), x, x * 0.25)
