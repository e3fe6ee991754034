"""Long chains: up to 300 operators, reads and choices one after the other."""

from __future__ import annotations

from collections.abc import Callable

import ostinato as ot
from ostinato.language.dims import Dimension
from ostinato.language.tensor import Tensor
from tests.property.constructs.table import Step, Workshop, construct, place, ragged

LENGTHS = (40, 120, 300)

LINKS: dict[str, Callable[[Tensor, Tensor, int], Tensor]] = {
    "chain_of_sums": lambda y, x, k: y + x * (0.5 / (k + 1)),
    "chain_of_functions": lambda y, x, k: (ot.tanh(y) + x, ot.sin(y), ot.abs(y) - 0.5)[k % 3],
    "chain_of_wheres": lambda y, x, k: ot.where(y > 0.01 * k, y * 0.9, x),
    "chain_of_maxima": lambda y, x, k: ot.maximum(y - 0.01, ot.minimum(x, 0.1 * k)),
    "chain_of_squares": lambda y, x, k: y * y * 0.5 + x,
    "chain_of_shapes": lambda y, x, k: y[..., None][..., 0] + 0.01 * x,
}


@construct("long chains", *LINKS, wild=True)
def chain(w: Workshop, s: Step) -> Tensor:
    y = x = w.real(s)
    for k in range(LENGTHS[s.c - 1]):
        y = LINKS[s.op](y, x, k)
    return y


LINKED: dict[str, Callable[[Tensor, Dimension, int], Tensor]] = {
    "chain_of_reads": lambda y, d, k: place(y, d, ot.maximum(d - 1, 0)),
    "chain_of_reads_and_sums": lambda y, d, k: place(y, d, ot.minimum(d + 1, d.size - 1)) + y * 0.1,
    "chain_of_cases": lambda y, d, k: ot.where(d % (k + 2) == 1, y * 0.5, y),
    "chain_of_windows": lambda y, d, k: place(y, d, slice(ot.maximum(d - 1, 0), d + 1)).mean(0),
}


@construct("long chains", *LINKED, wild=True)
def chain_of_steps(w: Workshop, s: Step) -> Tensor | None:
    d, y = w.along(s), w.real(s)
    if d is None or ragged(y):
        return None
    for k in range(LENGTHS[s.c - 1] // (2 if s.op != "chain_of_windows" else 8)):
        y = LINKED[s.op](y, d, k)
    return y


@construct("long chains", "tall_stack", "wide_sum", "long_join", wild=True)
def many(w: Workshop, s: Step) -> Tensor | None:
    """Many operands of one operator."""
    x = w.real(s)
    if ragged(x) or x.ndim > 1:
        return None
    parts = [x * (0.01 * k) + ot.sin(x) * (k % 3) for k in range(LENGTHS[s.c - 1] // 2)]
    if s.op == "wide_sum":
        return sum(parts[1:], start=parts[0])
    if s.op == "tall_stack" or not x.ndim:
        return ot.stack(parts).mean(0)
    return ot.concatenate(parts, axis=0).max(0)
