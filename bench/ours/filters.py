"""Filters: a state that is seen through noise, by its mean and covariance or by particles."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

import ostinato as ot
from bench.ours.called import called

STEP, PUSH, NOISE = 0.1, 0.05, 0.5


def seen(batch: int, steps: int, size: int) -> np.ndarray[tuple[int, ...], np.dtype[np.float32]]:
    """Walks in ``size`` directions, with noise."""
    rng = np.random.default_rng(0)
    walk = rng.normal(size=(batch, steps, size)).cumsum(1) * STEP
    return (walk + NOISE * rng.normal(size=walk.shape)).astype(np.float32)


def kalman_filter() -> ot.Program:
    """Places and velocities in a plane, of which noisy places are seen.

    Source: Kalman 1960, A new approach to linear filtering and prediction problems.
    """
    b, t = ot.dims("b t")
    place = ot.input("place", (2,), over=(b, t))
    unit, none = np.eye(2, dtype=np.float32), np.zeros((2, 2), np.float32)
    move = ot.constant(np.block([[unit, STEP * unit], [none, unit]]))
    look = ot.constant(np.hstack([unit, none]))
    mean, spread = (
        ot.recurrent("mean", (4,), over=(b, t)),
        ot.recurrent("spread", (4, 4), over=(b, t)),
    )
    ahead = move @ mean[b, t - 1]
    wide = move @ spread[b, t - 1] @ move.T + PUSH * np.eye(4, dtype=np.float32)
    first = t == 0
    mean_before = ot.where(first, ot.zeros((4,)), ahead)
    wide_before = ot.where(first, ot.eye(4), wide)
    across = look @ wide_before
    gain = ot.linalg.solve(across @ look.T + NOISE * unit, across).T
    mean[True] = mean_before + gain @ (place - look @ mean_before)
    spread[True] = wide_before - gain @ across
    return ot.Program(mean=mean)


def kalman(batch: int, steps: int, threads: int = 0) -> Callable[[], float]:
    return called(kalman_filter(), {"place": seen(batch, steps, 2)}, batch * steps, threads)


def particle_filter(particles: int) -> ot.Program:
    """The mean of a walk that is seen through noise, by particles that are drawn anew at each step.

    Systematic resampling: one uniform number, and places at equal distances from it.
    Source: Gordon, Salmond and Smith 1993; Kitagawa 1996.
    """
    b, t = ot.dims("b t")
    place = ot.input("place", over=(b, t))
    where = ot.recurrent("where", (particles,), over=(b, t))
    moved = where + STEP * ot.random.normal((particles,), over=(b, t))
    weight = ot.softmax(-ot.square(moved - place) * (0.5 / NOISE**2))
    shift = ot.random.uniform(over=(b, t))
    comb = (ot.arange(particles) + shift) * (1.0 / particles)
    chosen = ot.searchsorted(ot.cumsum(weight, axis=0), comb, side="right")
    where[b, 0] = ot.random.normal((particles,), over=b)
    where[b, t + 1] = ot.take(moved, chosen, axis=0)
    return ot.Program(mean=(weight * moved).sum(0))


def particle(particles: int, batch: int, steps: int, threads: int = 0) -> Callable[[], float]:
    given = {"place": seen(batch, steps, 1)[..., 0]}
    return called(particle_filter(particles), given, batch * steps * particles, threads)
