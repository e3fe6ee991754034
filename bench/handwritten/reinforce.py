"""REINFORCE on CartPole by hand, for Numba: as examples/reinforce_cartpole.py, all steps computed.

Each worker plays all steps of its tiles of episodes and keeps the activations; then, with the mean
and deviation of all returns, goes back through them; and improves its slice of the parameters.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from bench.handwritten.barrier import BARRIER_WORDS, barrier
from bench.handwritten.learning import F, adam, fell, fresh, gather_sum, physics, together, unit
from bench.handwritten.network import (
    HIDDEN,
    NETWORK,
    TILE,
    aligned,
    backward,
    forward,
    initial,
    transpose,
)
from bench.harness.timing import rates
from ostinato.codegen.cpu.numba_door import njit
from ostinato.codegen.cpu.prelude import DRIVER, KERNEL, exp_f32, philox_bits

DISCOUNT = F(0.99)

# The workspace of a worker: what lies there once, and then a block for every step of every tile.
GRAD, TURNED = NETWORK, 2 * NETWORK
D2 = TURNED + HIDDEN * HIDDEN
D1 = D2 + TILE * HIDDEN
PLACE, SPEED, ANGLE, SPIN, ALIVE, TOTAL = (D1 + TILE * HIDDEN + k * TILE for k in range(6))
ONE = TOTAL + TILE
BLOCKS = ONE + 16

X, H1 = 0, 4 * TILE
H2 = H1 + TILE * HIDDEN
LOGIT_0 = H2 + TILE * HIDDEN
LOGIT_1, ACTED, LIKELY, PLAYED, OUTCOME = (LOGIT_0 + k * TILE for k in range(1, 6))
BLOCK = LOGIT_0 + 6 * TILE


@njit(**KERNEL)
def advance(w: Any, kept: Any, step: int, env: int, seed: int, n: int) -> None:
    """Sample actions from the logits, and move the episodes that are not over."""
    for i in range(n):
        likely = F(1) / (F(1) + exp_f32(kept[LOGIT_0 + i] - kept[LOGIT_1 + i]))
        drawn = unit(philox_bits(step, env + i, 0, 0, seed, 1))
        acted = F(1) if drawn < likely else F(0)
        kept[LIKELY + i] = likely
        kept[ACTED + i] = acted
        kept[PLAYED + i] = w[ALIVE + i]
        push = F(20) * acted - F(10)
        x, v, angle, spin = physics(w[PLACE + i], w[SPEED + i], w[ANGLE + i], w[SPIN + i], push)
        goes_on = (w[ALIVE + i] > F(0.5)) & (not fell(x, angle))
        w[PLACE + i] = x if goes_on else w[PLACE + i]
        w[SPEED + i] = v if goes_on else w[SPEED + i]
        w[ANGLE + i] = angle if goes_on else w[ANGLE + i]
        w[SPIN + i] = spin if goes_on else w[SPIN + i]
        w[ALIVE + i] = F(1) if goes_on else F(0)


@njit(**KERNEL)
def play(w: Any, at: int, steps: int, env: int, n: int, clock: Any) -> None:
    """Play one tile of episodes; its blocks start at ``at``."""
    iteration, seed = clock
    for i in range(n):
        x, v, angle, spin = fresh(iteration, env + i, seed, 2)
        w[PLACE + i] = x
        w[SPEED + i] = v
        w[ANGLE + i] = angle
        w[SPIN + i] = spin
        w[ALIVE + i] = F(1)
    for t in range(steps):
        block = at + t * BLOCK
        kept = w[block : block + BLOCK]
        for i in range(n):
            kept[X + 4 * i] = w[PLACE + i]
            kept[X + 4 * i + 1] = w[SPEED + i]
            kept[X + 4 * i + 2] = w[ANGLE + i]
            kept[X + 4 * i + 3] = w[SPIN + i]
        forward(w, 0, 2, block + X, block + H1, block + H2, block + LOGIT_0, n)
        advance(w, kept, iteration * steps + t, env, seed, n)


@njit(**KERNEL)
def discount(w: Any, at: int, steps: int, n: int, sums: Any) -> None:
    """Compute what each action led to, and add up count, sum and squares over played steps."""
    for i in range(n):
        w[TOTAL + i] = F(0)
    for t in range(steps - 1, -1, -1):
        block = at + t * BLOCK
        kept = w[block : block + BLOCK]
        for i in range(n):
            w[TOTAL + i] = kept[PLAYED + i] + DISCOUNT * w[TOTAL + i]
            kept[OUTCOME + i] = w[TOTAL + i]
        for i in range(n):
            sums[0] += np.float64(kept[PLAYED + i])
            weighted = np.float64(kept[PLAYED + i] * kept[OUTCOME + i])
            sums[1] += weighted
            sums[2] += weighted * np.float64(kept[OUTCOME + i])


@njit(**KERNEL)
def differentiate(w: Any, at: int, steps: int, n: int, scales: Any) -> None:
    """Add the gradient of one tile of episodes."""
    mean, inverse, share = scales
    places = (0, GRAD, TURNED, D2, D1, ONE)
    for t in range(steps):
        block = at + t * BLOCK
        kept = w[block : block + BLOCK]
        for i in range(n):
            weight = kept[PLAYED + i] * (kept[OUTCOME + i] - mean) * inverse
            slope = share * weight * (kept[LIKELY + i] - kept[ACTED + i])
            kept[LOGIT_0 + i] = -slope
            kept[LOGIT_1 + i] = slope
        backward(w, places, 2, block + X, block + H1, block + H2, block + LOGIT_0, n)


@njit(**KERNEL)
def normalisation(sums: Any, workers: int) -> Any:
    """Return mean, inverse deviation and share of one step, over all workers' episodes."""
    count, added, squared = 0.0, 0.0, 0.0
    for k in range(workers):
        count += sums[k, 0]
        added += sums[k, 1]
        squared += sums[k, 2]
    mean = added / count
    deviation = np.sqrt(max(squared / count - mean * mean, 0.0)) + 1e-6
    return F(mean), F(1.0 / deviation), F(1.0 / count)


@njit(**DRIVER)
def train(worker: int, workers: int, words: Any, arrays: Any, sizes: Any) -> None:
    """Run a whole training in one worker."""
    state, ws, sums, returns = arrays
    envs, steps, iterations, seed, rate = sizes
    w = ws[worker]
    w[ONE] = F(1)
    each = (envs + workers - 1) // workers
    start, stop = min(envs, worker * each), min(envs, (worker + 1) * each)
    part = (NETWORK // 16 + workers - 1) // workers * 16
    span = (min(NETWORK, worker * part), min(NETWORK, (worker + 1) * part), workers)
    for iteration in range(iterations):
        for i in range(NETWORK):
            w[i] = state[0, i]
            w[GRAD + i] = F(0)
        transpose(w, 0, TURNED)
        sums[worker] = 0.0
        for number, env in enumerate(range(start, stop, TILE)):
            at = BLOCKS + number * steps * BLOCK
            n = min(TILE, stop - env)
            play(w, at, steps, env, n, (iteration, seed))
            discount(w, at, steps, n, sums[worker])
        barrier(words, workers)
        scales = normalisation(sums, workers)
        for number, env in enumerate(range(start, stop, TILE)):
            at = BLOCKS + number * steps * BLOCK
            differentiate(w, at, steps, min(TILE, stop - env), scales)
        barrier(words, workers)
        if worker == 0:
            returns[iteration] = F(1) / (scales[2] * F(envs))
            gather_sum(ws, GRAD, NETWORK, workers)
        if workers > 2:
            barrier(words, workers)
        rise = 1.0 / (1.0 - 0.999 ** (iteration + 1))
        step = F(rate / (1.0 - 0.9 ** (iteration + 1)))
        adam(state, ws, GRAD, (F(1), step, rise, F(1e-8)), span)
        barrier(words, workers)


@dataclass(frozen=True, slots=True)
class Setup:
    """Sizes of a training, and its learning rate."""

    episodes: int
    steps: int
    rate: float = 0.01
    workers: int = 0  # 0 means one per core that this process may use


class Training:
    """The memory of a training, which is filled once and serves every run."""

    def __init__(self, setup: Setup) -> None:
        self.setup = setup
        self.workers = setup.workers or len(os.sched_getaffinity(0))
        each = -(-setup.episodes // self.workers)
        tiles = -(-each // TILE)
        self._spaces = aligned(self.workers, BLOCKS + tiles * setup.steps * BLOCK)

    def run(self, iterations: int, seed: int = 0) -> npt.NDArray[np.float32]:
        """Return the mean length of the episodes of each iteration, from a fresh start."""
        state = aligned(3, NETWORK)
        state[0] = initial((2,), (0.01,), seed)
        returns = np.zeros(iterations, np.float32)
        arrays = state, self._spaces, np.zeros((self.workers, 16)), returns
        setup = self.setup
        sizes = setup.episodes, setup.steps, iterations, seed, setup.rate
        together(train, self.workers, np.zeros(BARRIER_WORDS, np.int64), arrays, sizes)
        return returns


def sampler(episodes: int, steps: int, threads: int = 0) -> Callable[[], float]:
    training = Training(Setup(episodes, steps, workers=threads))
    return rates(training.run, episodes * steps)
