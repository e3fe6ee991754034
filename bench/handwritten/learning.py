"""What the handwritten programs share beside the network: Adam by slices, CartPole, threads."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import numpy as np

from ostinato.codegen.cpu.numba_door import njit
from ostinato.codegen.cpu.prelude import (
    KERNEL,
    cos_f32,
    philox_bits,
    philox_bits_1,
    philox_bits_2,
    philox_bits_3,
    sin_f32,
)

F = np.float32
UNIT = F(2.0**-24)
SUMS = {**KERNEL, "fastmath": {"contract", "nsz", "reassoc"}}  # lets the sums of a loop vectorise


@njit(**KERNEL)
def gather_sum(ws: Any, grad: int, count: int, workers: int) -> None:
    """Add the gradients of workers from the third on to that of the first.

    Only two are summed where they are used: a loop over workers there would not vectorise.
    """
    for k in range(2, workers):
        for i in range(count):
            ws[0, grad + i] += ws[k, grad + i]


@njit(**SUMS)
def norm(ws: Any, grad: int, count: int, workers: int) -> Any:
    """Return the length of the sum of the first two workers' gradients."""
    last = min(workers - 1, 1)
    found = F(0)
    for i in range(count):
        x = ws[0, grad + i] + F(last) * ws[last, grad + i]
        found += x * x
    return np.sqrt(found)


@njit(**KERNEL)
def adam(state: Any, ws: Any, grad: int, rates: Any, span: Any) -> None:
    """Improve parameters ``span[0] .. span[1]`` with the sum of the first two gradients."""
    scale, rate, rise, epsilon = rates
    start, stop, workers = span
    last = min(workers - 1, 1)
    root = F(np.sqrt(rise))
    for i in range(start, stop):
        x = scale * (ws[0, grad + i] + F(last) * ws[last, grad + i])
        m = F(0.9) * state[1, i] + F(0.1) * x
        v = F(0.999) * state[2, i] + F(0.001) * x * x
        state[1, i] = m
        state[2, i] = v
        state[0, i] -= rate * m / (np.sqrt(v) * root + epsilon)


@njit(**KERNEL)
def unit(word: Any) -> Any:
    """Return a number in [0, 1) from a random word."""
    return F(np.int32(np.uint32(word) >> np.uint32(8))) * UNIT


@njit(**KERNEL)
def fresh(step: int, env: int, seed: int, stream: int) -> Any:
    """Return the state of a new game."""
    a = unit(philox_bits(step, env, 0, 0, seed, stream))
    b = unit(philox_bits_1(step, env, 0, 0, seed, stream))
    c = unit(philox_bits_2(step, env, 0, 0, seed, stream))
    d = unit(philox_bits_3(step, env, 0, 0, seed, stream))
    tenth, half = F(0.1), F(0.05)
    return a * tenth - half, b * tenth - half, c * tenth - half, d * tenth - half


@njit(**KERNEL)
def physics(x: Any, v: Any, angle: Any, spin: Any, push: Any) -> Any:
    """Return the next state of a cart, pushed with that force."""
    cosine, sine = cos_f32(angle), sin_f32(angle)
    pushed = (push + F(0.05) * spin * spin * sine) * F(1 / 1.1)
    turn = (F(9.8) * sine - cosine * pushed) / (
        F(0.5) * (F(4 / 3) - F(0.1 / 1.1) * cosine * cosine)
    )
    pull = pushed - F(0.05 / 1.1) * turn * cosine
    tau = F(0.02)
    return x + tau * v, v + tau * pull, angle + tau * spin, spin + tau * turn


@njit(**KERNEL)
def fell(x: Any, angle: Any) -> Any:
    return (abs(x) > F(2.4)) | (abs(angle) > F(0.20943951))


def together(work: Callable[..., None], workers: int, *arguments: object) -> None:
    """Run ``work(worker, workers, *arguments)`` in that many threads until all are done."""
    rest = [threading.Thread(target=work, args=(k, workers, *arguments)) for k in range(1, workers)]
    for each in rest:
        each.start()
    work(0, workers, *arguments)
    for each in rest:
        each.join()
