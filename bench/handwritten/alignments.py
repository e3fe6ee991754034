"""Alignments of two texts as one would write them by hand with Numba, a pair after the other."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from bench.harness.timing import rates
from ostinato.codegen.cpu.numba_door import njit

MATCH, MISMATCH, GAP = 3, -2, 2
Texts = npt.NDArray[np.int32]


@njit()
def edits(one: Texts, two: Texts) -> Texts:
    out = np.zeros(len(one), np.int32)
    for b in range(len(one)):
        row = np.zeros(two.shape[1] + 1, np.int32)
        for j in range(len(row)):
            row[j] = j
        for i in range(one.shape[1]):
            slant, row[0] = row[0], i + 1
            for j in range(two.shape[1]):
                here = slant + np.int32(one[b, i] != two[b, j])
                slant = row[j + 1]
                row[j + 1] = min(here, min(slant, row[j]) + 1)
        out[b] = row[-1]
    return out


@njit()
def scores(one: Texts, two: Texts) -> Texts:
    out = np.zeros(len(one), np.int32)
    for b in range(len(one)):
        row = np.zeros(two.shape[1] + 1, np.int32)
        for i in range(one.shape[1]):
            slant = np.int32(0)
            for j in range(two.shape[1]):
                here = slant + np.int32(MATCH if one[b, i] == two[b, j] else MISMATCH)
                slant = row[j + 1]
                row[j + 1] = max(here, max(slant, row[j]) - GAP, 0)
                out[b] = max(out[b], row[j + 1])
    return out


def sampler(
    function: Callable[[Texts, Texts], Texts], batch: int, length: int
) -> Callable[[], float]:
    rng = np.random.default_rng(0)
    one, two = (rng.integers(0, 4, (batch, length)).astype(np.int32) for _ in range(2))

    def run(iterations: int) -> None:
        for _ in range(iterations):
            function(one, two)

    return rates(run, batch * length**2)


def edit_distance(batch: int, length: int) -> Callable[[], float]:
    return sampler(edits, batch, length)


def smith_waterman(batch: int, length: int) -> Callable[[], float]:
    return sampler(scores, batch, length)
