"""Programs of one game in JAX, a step and an update after the other: all of them in one loop."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Protocol

import jax

from bench.harness.learning import samples
from bench.harness.timing import rates


class Setup(Protocol):
    """Sizes and hyper-parameters."""

    start: int  # steps before anything is learnt


Start = Callable[[Any, int], Any]  # by setup and seed
Iterate = Callable[[Any, Any], tuple[Any, tuple[jax.Array, jax.Array]]]
"""What follows a step and an update, whether a game ended, and what it returned."""


@partial(jax.jit, static_argnums=(0, 2))
def repeat(iterate: Iterate, training: Any, setup: Setup, steps: int) -> Any:
    """Return what is left after so many steps: one program for any number of them."""
    return jax.lax.fori_loop(0, steps, lambda _, now: iterate(now, setup)[0], training)


@partial(jax.jit, static_argnums=(0, 2, 3))
def train(iterate: Iterate, training: Any, setup: Setup, steps: int) -> Any:
    """Return what is left and known after so many steps."""
    return jax.lax.scan(lambda now, _: iterate(now, setup), training, length=steps)


def speed(start: Start, iterate: Iterate, setup: Setup) -> Callable[[], float]:
    """Steps per second, once learning has begun."""
    first = repeat(iterate, start(setup, 0), setup, setup.start)
    run = partial(repeat, iterate, first, setup)
    return rates(lambda steps: run(steps).count.block_until_ready(), 1)


def returns(start: Start, iterate: Iterate, setup: Setup, steps: int) -> Callable[[], float]:
    """The mean return of the last games of a training."""

    def found(seed: int) -> list[float]:
        _, (done, earned) = train(iterate, start(setup, seed), setup, steps)
        return [float(x) for x in earned[done]]

    return samples(found)
