"""Alignments of two texts: tables whose cells depend on three neighbours."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

import ostinato as ot
from bench.ours.called import called

MATCH, MISMATCH, GAP = 3, -2, 2


def texts(batch: int, length: int) -> dict[str, object]:
    """Pairs of texts of four letters."""
    rng = np.random.default_rng(0)
    return {name: rng.integers(0, 4, (batch, length)).astype(np.int32) for name in ("one", "two")}


def distances() -> ot.Program:
    """The least number of letters to insert, delete and replace, for each pair."""
    b, i, j = ot.dims("b i j")
    n, m = ot.dim("n", size=i.size - 1), ot.dim("m", size=j.size - 1)
    one, two = (
        ot.input("one", dtype="int32", over=(b, n)),
        ot.input("two", dtype="int32", over=(b, m)),
    )
    cost = ot.recurrent("cost", dtype="int32", over=(b, i, j))
    cost[i == 0] = ot.index(j)
    cost[j == 0] = ot.index(i)
    replaced = cost[b, i - 1, j - 1] + (one[b, i - 1] != two[b, j - 1]).cast("int32")
    inserted = ot.minimum(cost[b, i - 1, j], cost[b, i, j - 1]) + 1
    cost[True] = ot.minimum(replaced, inserted)
    return ot.Program(distance=cost[b, -1, -1])


def local_scores() -> ot.Program:
    """The score of the best alignment of parts of each pair, with a price for every gap.

    Source: Smith and Waterman 1981, Identification of common molecular subsequences.
    """
    b, i, j = ot.dims("b i j")
    one, two = (
        ot.input("one", dtype="int32", over=(b, i)),
        ot.input("two", dtype="int32", over=(b, j)),
    )
    score = ot.recurrent("score", dtype="int32", over=(b, i, j))
    alike = ot.where(one == two, MATCH, MISMATCH)
    before = ot.where((i > 0) & (j > 0), score[b, i - 1, j - 1], 0)
    above, left = ot.where(i > 0, score[b, i - 1, j], 0), ot.where(j > 0, score[b, i, j - 1], 0)
    score[True] = ot.maximum(ot.maximum(before + alike, ot.maximum(above, left) - GAP), 0)
    return ot.Program(best=score[b, :, :].max())


def edit_distance(batch: int, length: int, threads: int = 0) -> Callable[[], float]:
    given = {**texts(batch, length), "I": length + 1, "J": length + 1}
    return called(distances(), given, batch * length**2, threads)


def smith_waterman(batch: int, length: int, threads: int = 0) -> Callable[[], float]:
    return called(local_scores(), texts(batch, length), batch * length**2, threads)
