"""PageRank to convergence on a random graph, and additions at computed positions."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

import ostinato as ot
from bench.harness.timing import rates

DAMPING, ENOUGH, MOST = 0.85, 1e-6, 1000


def pagerank(pages: int, links: int) -> Callable[[], float]:
    """Calls per second; the iteration ends where ranks change by less than ``ENOUGH`` in all."""
    t = ot.dims("t")
    start, end = (ot.input(n, (links,), dtype="int32") for n in ("start", "end"))
    degree = ot.input("degree", (pages,))
    rank = ot.recurrent("rank", (pages,), over=(t,))
    rank[0] = ot.full((pages,), 1 / pages)
    passed = ot.scatter_add(ot.take(rank / degree, start, 0), end, pages)
    later = (1 - DAMPING) / pages + DAMPING * passed
    rank[t + 1] = later
    ot.stop(t, when=abs(later - rank).sum() < ENOUGH)
    compiled = ot.Program(rank=rank.at(t=ot.length(t) - 1)).compile()
    rng = np.random.default_rng(0)
    drawn = rng.integers(0, pages, (2, links)).astype(np.int32)
    count = np.maximum(np.bincount(drawn[0], minlength=pages), 1).astype(np.float32)

    def run(iterations: int) -> None:
        for _ in range(iterations):
            compiled(start=drawn[0], end=drawn[1], degree=count, T=MOST)

    return rates(run, 1)


def scatter(rows: int, width: int, places: int) -> Callable[[], float]:
    """Numbers added per second: rows at computed positions, as the gradient of a table."""
    updates, at = ot.input("updates", (rows, width)), ot.input("at", (rows,), dtype="int32")
    compiled = ot.Program(sums=ot.scatter_add(updates, at, places, 0)).compile()
    rng = np.random.default_rng(0)
    drawn = rng.standard_normal((rows, width)).astype(np.float32)
    found = rng.integers(0, places, rows).astype(np.int32)

    def run(iterations: int) -> None:
        for _ in range(iterations):
            compiled(updates=drawn, at=found)

    return rates(run, rows * width)
