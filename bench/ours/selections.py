"""What is found along the last axis: sums, extremes, the greatest, places in an order, draws."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

import ostinato as ot
from bench.ours.called import called
from ostinato.language.tensor import Tensor

FOUND: dict[str, Callable[[Tensor], Tensor]] = {
    "sum": lambda x: x.sum(-1),
    "max": lambda x: x.max(-1),
    "var": lambda x: x.var(-1),
    "argmax": lambda x: x.argmax(-1),
    "logsumexp": lambda x: ot.logsumexp(x, -1),
    "softmax": ot.softmax,
    "cumsum": lambda x: ot.cumsum(x, axis=-1),
    "top_k": lambda x: ot.top_k(x, 8)[1],
}


def along_rows(function: str, rows: int, length: int, threads: int = 0) -> Callable[[], float]:
    x = np.random.default_rng(0).normal(size=(rows, length)).astype(np.float32)
    program = ot.Program(found=FOUND[function](ot.input("x", (rows, length))))
    return called(program, {"x": x}, rows * length, threads)


def searched(length: int, values: int, threads: int = 0) -> Callable[[], float]:
    rng = np.random.default_rng(0)
    given = {
        "known": np.sort(rng.normal(size=length)).astype(np.float32),
        "sought": rng.normal(size=values).astype(np.float32),
    }
    known, sought = ot.input("known", (length,)), ot.input("sought", (values,))
    return called(ot.Program(at=ot.searchsorted(known, sought)), given, values, threads)


def drawn(rows: int, words: int, threads: int = 0) -> Callable[[], float]:
    x = np.random.default_rng(0).normal(size=(rows, words)).astype(np.float32)
    program = ot.Program(word=ot.random.categorical(ot.input("logits", (rows, words))))
    return called(program, {"logits": x}, rows * words, threads)
