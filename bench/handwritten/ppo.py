"""PPO on CartPole by hand, for Numba: what the compiler should make of examples/ppo_cartpole.py.

Each worker plays all steps of its tiles of environments, advantages included, without a barrier;
then takes tiles of samples of every minibatch through gather, forward, loss and backward with all
activations close by; and improves its slice of the parameters.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from bench.handwritten.barrier import BARRIER_WORDS, barrier
from bench.handwritten.learning import (
    SUMS,
    F,
    adam,
    fell,
    fresh,
    gather_sum,
    norm,
    physics,
    together,
    unit,
)
from bench.handwritten.network import (
    HIDDEN,
    NETWORK,
    TILE,
    Floats,
    aligned,
    backward,
    forward,
    initial,
    transpose,
)
from bench.harness.learning import samples
from bench.harness.timing import rates
from ostinato.codegen.cpu.numba_door import njit
from ostinato.codegen.cpu.prelude import (
    DRIVER,
    KERNEL,
    abs_f32,
    exp_f32,
    log1p_f32,
    maximum_f32,
    minimum_f32,
    philox_bits,
)

EPOCHS, PARTS = 4, 4
DISCOUNT, TRACE = F(0.99), F(0.99 * 0.95)
PARAMS = 2 * NETWORK

# The workspace of a worker.
ACTOR, CRITIC = 0, NETWORK
GRAD = PARAMS
TURNED_A, TURNED_C = 2 * PARAMS, 2 * PARAMS + HIDDEN * HIDDEN
X = TURNED_C + HIDDEN * HIDDEN
WIDE = TILE * HIDDEN
H1_A, H2_A, H1_C, H2_C, D2, D1 = (X + 4 * TILE + k * WIDE for k in range(6))
OUT = D1 + WIDE  # two logits and a value, tile after tile
LOGIT_0, LOGIT_1, VALUE = OUT, OUT + TILE, OUT + 2 * TILE
PLACE, SPEED, ANGLE, SPIN, AGE = (OUT + (3 + k) * TILE for k in range(5))
ACTED, BEFORE, BETTER, TARGET = (OUT + (8 + k) * TILE for k in range(4))
ONE = OUT + 12 * TILE
SPACE = ONE + 16

# A record of one step, one line of memory: four observed numbers, then these.
ACTION, LOG_P, VALUED, ADVANTAGE, RETURN, DONE = range(4, 10)


@njit(**KERNEL)
def softplus(x: Any) -> Any:
    """Return ``log(1 + exp(x))`` without overflow."""
    return maximum_f32(x, F(0)) + log1p_f32(exp_f32(-abs_f32(x)))


@njit(**KERNEL)
def decide(w: Any, rec: Any, row: int, step: int, env: int, seed: int, n: int) -> None:
    """Sample the actions of a tile and write down what is known before them."""
    for i in range(n):
        lean = w[LOGIT_1 + i] - w[LOGIT_0 + i]
        drawn = unit(philox_bits(step, env + i, 0, 0, seed, 1))
        w[ACTED + i] = F(1) if drawn * (F(1) + exp_f32(-lean)) < F(1) else F(0)
        w[BEFORE + i] = -softplus(-lean if w[ACTED + i] > F(0.5) else lean)
    for i in range(n):
        for j in range(4):
            rec[row + i, j] = w[X + 4 * i + j]
        rec[row + i, ACTION] = w[ACTED + i]
        rec[row + i, LOG_P] = w[BEFORE + i]
        rec[row + i, VALUED] = w[VALUE + i]


@njit(**KERNEL)
def advance(w: Any, step: int, env: int, seed: int, n: int) -> None:
    """Move a tile of environments; those that are over start again, and say so in BETTER."""
    for i in range(n):
        push = F(10) if w[ACTED + i] > F(0.5) else F(-10)
        x, v, angle, spin = physics(w[PLACE + i], w[SPEED + i], w[ANGLE + i], w[SPIN + i], push)
        age = w[AGE + i] + F(1)
        done = fell(x, angle) | (age >= F(500))
        x0, v0, angle0, spin0 = fresh(step, env + i, seed, 2)
        w[PLACE + i] = x0 if done else x
        w[SPEED + i] = v0 if done else v
        w[ANGLE + i] = angle0 if done else angle
        w[SPIN + i] = spin0 if done else spin
        w[AGE + i] = F(0) if done else age
        w[BETTER + i] = age if done else F(0)


@njit(**KERNEL)
def observe(w: Any, n: int) -> None:
    for i in range(n):
        w[X + 4 * i] = w[PLACE + i]
        w[X + 4 * i + 1] = w[SPEED + i]
        w[X + 4 * i + 2] = w[ANGLE + i]
        w[X + 4 * i + 3] = w[SPIN + i]


@njit(**KERNEL)
def play(w: Any, games: Any, rec: Any, ended: Any, sizes: Any, clock: Any) -> None:
    """Play all steps of one tile of environments, and compute the advantages."""
    env, n, envs, steps = sizes
    start, seed = clock
    for k in range(5):
        for i in range(n):
            w[PLACE + k * TILE + i] = games[k, env + i]
    for t in range(steps):
        observe(w, n)
        forward(w, ACTOR, 2, X, H1_A, H2_A, LOGIT_0, n)
        forward(w, CRITIC, 1, X, H1_C, H2_C, VALUE, n)
        row = t * envs + env
        decide(w, rec, row, start + t, env, seed, n)
        advance(w, start + t, env, seed, n)
        for i in range(n):
            age = w[BETTER + i]
            rec[row + i, DONE] = F(1) if age > F(0) else F(0)
            ended[0] += age
            ended[1] += F(1) if age > F(0) else F(0)
    for k in range(5):
        for i in range(n):
            games[k, env + i] = w[PLACE + k * TILE + i]
    observe(w, n)
    forward(w, CRITIC, 1, X, H1_C, H2_C, VALUE, n)
    judge(w, rec, sizes)


@njit(**KERNEL)
def judge(w: Any, rec: Any, sizes: Any) -> None:
    env, n, envs, steps = sizes
    for i in range(n):
        w[BETTER + i] = F(0)
    for t in range(steps - 1, -1, -1):
        for i in range(n):
            row = t * envs + env + i
            goes_on = F(1) - rec[row, DONE]
            value = rec[row, VALUED]
            surprise = F(1) + DISCOUNT * goes_on * w[VALUE + i] - value
            better = surprise + TRACE * goes_on * w[BETTER + i]
            w[BETTER + i] = better
            w[VALUE + i] = value
            rec[row, ADVANTAGE] = better
            rec[row, RETURN] = better + value


@njit(**KERNEL)
def shuffle(order: Any, seed: int, counter: int) -> None:
    for i in range(order.size):
        order[i] = i
    for i in range(order.size - 1, 0, -1):
        word = np.uint64(philox_bits(i, counter, 0, 0, seed, 3))
        j = np.int64((word * np.uint64(i + 1)) >> np.uint64(32))
        kept = order[i]
        order[i] = order[j]
        order[j] = kept


@njit(**SUMS)
def moments(rec: Any, order: Any, start: int, stop: int) -> Any:
    """Return the mean advantage of a minibatch and the inverse of its deviation."""
    added, squared = F(0), F(0)
    for i in range(start, stop):
        x = rec[order[i], ADVANTAGE]
        added += x
        squared += x * x
    count = F(stop - start)
    mean = added / count
    return mean, F(1) / (np.sqrt(max(squared / count - mean * mean, F(0))) + F(1e-8))


@njit(**KERNEL)
def gather(w: Any, rec: Any, order: Any, start: int, n: int) -> None:
    for i in range(n):
        row = order[start + i]
        for j in range(4):
            w[X + 4 * i + j] = rec[row, j]
        w[ACTED + i] = rec[row, ACTION]
        w[BEFORE + i] = rec[row, LOG_P]
        w[BETTER + i] = rec[row, ADVANTAGE]
        w[TARGET + i] = rec[row, RETURN]


@njit(**KERNEL)
def slopes(w: Any, mean: Any, inverse: Any, share: Any, n: int) -> None:
    """Put the gradient of the loss in the place of the logits and values."""
    for i in range(n):
        lean = w[LOGIT_1 + i] - w[LOGIT_0 + i]
        log_1 = -softplus(-lean)
        p_1 = exp_f32(log_1)
        log_p = log_1 if w[ACTED + i] > F(0.5) else log_1 - lean
        ratio = exp_f32(log_p - w[BEFORE + i])
        weight = (w[BETTER + i] - mean) * inverse
        held = minimum_f32(maximum_f32(ratio, F(0.8)), F(1.2))
        gain = ratio * weight if ratio * weight <= held * weight else F(0)
        slope = F(0.01) * lean * p_1 * (F(1) - p_1) - gain * (w[ACTED + i] - p_1)
        w[LOGIT_1 + i] = share * slope
        w[LOGIT_0 + i] = -share * slope
        w[VALUE + i] = share * (w[VALUE + i] - w[TARGET + i])


@njit(**KERNEL)
def differentiate(w: Any, rec: Any, order: Any, span: Any, scales: Any) -> None:
    """Compute the gradient of rows ``span`` of a minibatch, tile by tile."""
    start, stop = span
    mean, inverse, share = scales
    for i in range(PARAMS):
        w[GRAD + i] = F(0)
    for at in range(start, stop, TILE):
        n = min(TILE, stop - at)
        gather(w, rec, order, at, n)
        forward(w, ACTOR, 2, X, H1_A, H2_A, LOGIT_0, n)
        forward(w, CRITIC, 1, X, H1_C, H2_C, VALUE, n)
        slopes(w, mean, inverse, share, n)
        actor = (ACTOR, GRAD + ACTOR, TURNED_A, D2, D1, ONE)
        critic = (CRITIC, GRAD + CRITIC, TURNED_C, D2, D1, ONE)
        backward(w, actor, 2, X, H1_A, H2_A, LOGIT_0, n)
        backward(w, critic, 1, X, H1_C, H2_C, VALUE, n)


@njit(**KERNEL)
def slice_of(count: int, worker: int, workers: int, multiple: int) -> Any:
    """Return the first and the last row of a worker, multiples of a unit."""
    each = ((count + workers - 1) // workers + multiple - 1) // multiple * multiple
    return min(count, worker * each), min(count, (worker + 1) * each)


@njit(**KERNEL)
def take(state: Any, w: Any) -> None:
    for i in range(PARAMS):
        w[i] = state[0, i]
    transpose(w, ACTOR, TURNED_A)
    transpose(w, CRITIC, TURNED_C)


@njit(**KERNEL)
def update(
    worker: int, workers: int, words: Any, state: Any, ws: Any, rec: Any, order: Any, plan: Any
) -> None:
    """Improve the policy with every minibatch of every epoch."""
    rate, done, inverse = plan
    w = ws[worker]
    size = order.shape[1] // PARTS
    start, stop = slice_of(size, worker, workers, 4)
    first, last = slice_of(PARAMS, worker, workers, 16)
    for number in range(EPOCHS * PARTS):
        part = number % PARTS * size
        scales = (inverse[number, 0], inverse[number, 1], F(1) / F(size))
        take(state, w)
        differentiate(w, rec, order[number // PARTS], (part + start, part + stop), scales)
        barrier(words, workers)
        if workers > 2:
            if worker == 0:
                gather_sum(ws, GRAD, PARAMS, workers)
            barrier(words, workers)
        count = done + number + 1
        length = norm(ws, GRAD, PARAMS, workers)
        scale = F(1) if length < F(0.5) else F(0.5) / F(length)
        rise = 1.0 / (1.0 - 0.999**count)
        step = F(rate / (1.0 - 0.9**count))
        adam(state, ws, GRAD, (scale, step, rise, F(1e-5)), (first, last, workers))
        barrier(words, workers)


@njit(**DRIVER)
def train(worker: int, workers: int, words: Any, arrays: Any, sizes: Any) -> None:
    """Run a whole training in one worker."""
    state, ws, games, rec, order, ended, scales, returns = arrays
    envs, steps, iterations, seed, rate = sizes
    w = ws[worker]
    w[ONE] = F(1)
    size = envs * steps // PARTS
    start, stop = slice_of(envs, worker, workers, 1)
    for iteration in range(iterations):
        take(state, w)
        ended[worker] = F(0)
        for env in range(start, stop, TILE):
            tile = (env, min(TILE, stop - env), envs, steps)
            play(w, games, rec, ended[worker], tile, (iteration * steps, seed))
        for epoch in range(worker, EPOCHS, workers):
            shuffle(order[epoch], seed, iteration * EPOCHS + epoch)
        barrier(words, workers)
        if worker == 0:
            length, count = F(0), F(0)
            for k in range(workers):
                length += ended[k, 0]
                count += ended[k, 1]
            returns[iteration] = length / max(count, F(1))
        for number in range(worker, EPOCHS * PARTS, workers):
            part = number % PARTS * size
            found = moments(rec, order[number // PARTS], part, part + size)
            scales[number, 0] = found[0]
            scales[number, 1] = found[1]
        barrier(words, workers)
        now = rate * (1.0 - iteration / iterations)
        plan = (now, iteration * EPOCHS * PARTS, scales)
        update(worker, workers, words, state, ws, rec, order, plan)


@dataclass(frozen=True, slots=True)
class Setup:
    """Sizes of a training, and its learning rate at the start."""

    envs: int
    steps: int
    rate: float = 1e-3
    workers: int = 0  # 0 means one per core that this process may use


def run(setup: Setup, iterations: int, seed: int = 0) -> npt.NDArray[np.float32]:
    """Return the mean length of the games that ended in each iteration of a training."""
    workers = setup.workers or len(os.sched_getaffinity(0))
    rows = setup.envs * setup.steps
    state = aligned(3, PARAMS)
    state[0] = initial((2, 1), (1.0, 1.0), seed)
    games: Floats = np.zeros((5, setup.envs), np.float32)
    games[:4] = np.random.default_rng(seed).uniform(-0.05, 0.05, (4, setup.envs))
    returns = np.zeros(iterations, np.float32)
    arrays = (
        state,
        aligned(workers, SPACE),
        games,
        aligned(rows, 16),
        np.zeros((EPOCHS, rows), np.int32),
        np.zeros((workers, 16), np.float32),
        np.zeros((EPOCHS * PARTS, 2), np.float32),
        returns,
    )
    sizes = (setup.envs, setup.steps, iterations, seed, setup.rate)
    together(train, workers, np.zeros(BARRIER_WORDS, np.int64), arrays, sizes)
    return returns


def sampler(envs: int, steps: int, threads: int = 0) -> Callable[[], float]:
    setup = Setup(envs, steps, workers=threads)
    return rates(lambda iterations: run(setup, iterations), envs * steps)


def learning(envs: int, steps: int, updates: int) -> Callable[[], float]:
    setup = Setup(envs, steps)
    return samples(lambda seed: [float(value) for value in run(setup, updates, seed)])
