"""Products of wide rows that share an operand, as those of gates and heads do."""

from __future__ import annotations

from collections.abc import Callable

import ostinato as ot
from ostinato.language.tensor import Tensor
from tests.property.constructs.table import Step, Workshop, construct, place

WIDTH = 18  # of the sums: joining products is worth it from 16


def waves(rows: int, columns: int, phase: Tensor) -> Tensor:
    """A matrix of different numbers in [-1, 1]."""
    grid = ot.arange(rows).reshape(-1, 1) * 5 + ot.arange(columns).reshape(1, -1) * 3
    return ot.sin(grid.cast(phase.dtype) + phase)


def by_columns(x: Tensor, y: Tensor) -> Tensor:
    """One row times two matrices: the gates of a cell."""
    row = waves(1, WIDTH, x)[..., 0, :]
    return ot.tanh(row @ waves(WIDTH, 3, y)) * ot.sigmoid(row @ waves(WIDTH, 3, y * 0.5))


def by_rows(x: Tensor, y: Tensor) -> Tensor:
    """Two blocks of rows times one matrix."""
    shared = waves(WIDTH, 2, x)
    return (waves(2, WIDTH, y) @ shared).sum(0) - (waves(3, WIDTH, x * 0.5) @ shared).max(0)


def three(x: Tensor, y: Tensor) -> Tensor:
    """Three matrices of different widths, the last of which reads what the first has made."""
    rows = waves(2, WIDTH, x)
    first, second = rows @ waves(WIDTH, 1, y), rows @ waves(WIDTH, 4, y + 1.0)
    third = rows @ (waves(WIDTH, 2, y) * ot.tanh(first.sum()))
    return first.sum(0) + second.mean(0)[..., :1] + third.max(0)


SHARED: dict[str, Callable[[Tensor, Tensor], Tensor]] = {
    "shared_row": by_columns,
    "shared_matrix": by_rows,
    "shared_by_three": three,
}


@construct("products", *SHARED)
def shared(w: Workshop, s: Step) -> Tensor:
    x, y = w.real(s), w.as_real(w.pool[s.b % len(w.pool)])
    return SHARED[s.op](x.sum() if x.ndim else x, y.sum() if y.ndim else y) * 0.2


@construct("products")
def gated_cell(w: Workshop, s: Step) -> Tensor | None:
    """A state that two products of itself and two of an input move on."""
    d, x = w.along(s), w.real(s)
    if d is None or any(not n.is_const for n in x.node.shape):
        return None
    zero = ot.zeros((), w.dtype)
    scalar = x.sum() if x.ndim else x
    row = waves(1, WIDTH, scalar)[..., 0, :]
    h = ot.recurrent(f"h{w.number}", shape=(WIDTH,), dtype=w.dtype, over=w.over(x))
    keep = ot.sigmoid(h @ waves(WIDTH, 8, zero) @ waves(8, WIDTH, zero) * 0.1 + scalar)
    fresh = ot.tanh(h @ waves(WIDTH, 8, zero + 1.0) @ waves(8, WIDTH, zero) * 0.1 + row)
    h[tuple(0 if e.name == d.name else e for e in w.over(x))] = place(row, d, 0)
    h[tuple(d + 1 if e.name == d.name else e for e in w.over(x))] = keep * h + (1.0 - keep) * fresh
    return h[..., 2:5]
