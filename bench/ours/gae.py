"""Generalized advantage estimation from its definition, a discounted sum of what is to come."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

import ostinato as ot
from bench.harness.timing import rates

DISCOUNT, TRACE = 0.99, 0.95


def program() -> ot.Program:
    """Return the advantage of every step; ``value`` has one step more than ``reward``."""
    t = ot.dims("t")
    u = ot.dim("u", size=t.size + 1)
    b = ot.dims("b")
    reward, value = ot.input("reward", over=(t, b)), ot.input("value", over=(u, b))
    surprise = reward + DISCOUNT * value[t + 1, b] - value[t, b]
    return ot.Program(advantage=ot.discounted_sum(surprise[t:, b], DISCOUNT * TRACE))


def sampler(envs: int, steps: int) -> Callable[[], float]:
    compiled = program().compile()
    rng = np.random.default_rng(0)
    reward = rng.normal(size=(steps, envs)).astype(np.float32)
    value = rng.normal(size=(steps + 1, envs)).astype(np.float32)

    def run(iterations: int) -> None:
        for _ in range(iterations):
            compiled(reward=reward, value=value)

    return rates(run, envs * steps)
