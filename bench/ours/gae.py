"""Generalized advantage estimation from its definition, a discounted sum of what is to come."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

import ostinato as ot
from bench.harness.timing import rates

DISCOUNT, TRACE = 0.99, 0.95


def program() -> ot.Program:
    """Return the advantage of every step; ``value`` has one step more than ``reward``."""
    t, b = ot.dims("t b")
    reward, value = ot.input("reward", over=(t, b)), ot.input("value", over=(t, b))
    last = ot.input("last", over=b)
    following = value[ot.minimum(t + 1, t.size - 1), b]
    after = ot.where(ot.index(t) < t.size - 1, following, last)
    surprise = reward + DISCOUNT * after - value
    return ot.Program(advantage=ot.discounted_sum(surprise[t:, b], DISCOUNT * TRACE))


def sampler(envs: int, steps: int) -> Callable[[], float]:
    compiled = program().compile()
    rng = np.random.default_rng(0)
    reward, value = rng.normal(size=(2, steps, envs)).astype(np.float32)
    last = rng.normal(size=envs).astype(np.float32)

    def run(iterations: int) -> None:
        for _ in range(iterations):
            compiled(reward=reward, value=value, last=last)

    return rates(run, envs * steps)
