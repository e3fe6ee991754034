"""Decoders: Viterbi paths, state probabilities, connectionist temporal classification, beams."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

import ostinato as ot
from bench.harness.timing import rates
from ostinato.language.tensor import Tensor


def viterbi() -> ot.Program:
    """Return the likeliest states of every sequence: the best scores, and back along them."""
    b, t = ot.dims("b t")
    s = ot.dim("s", size=ot.dims("n").size)
    move = ot.input("move", (s.size, s.size))
    seen = ot.input("seen", (s.size,), over=(b, t))
    score = ot.recurrent("score", (s.size,), over=(b, t))
    path = ot.recurrent("path", dtype="int32", over=(b, t))
    ways = score[..., None] + move  # from each state to each other
    score[b, 0] = seen[b, 0]
    score[b, t + 1] = ways.max(0) + seen[b, t + 1]
    path[b, -1] = score[b, -1].argmax(0)
    path[b, t] = ways.argmax(0)[path[b, t + 1]]
    return ot.Program(path=path)
