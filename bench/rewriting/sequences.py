"""Recurrences, sums and windows over time."""

from __future__ import annotations

import ostinato as ot
from ostinato.language.tensor import Tensor

DISCOUNT, TRACE = 0.99, 0.95


def _surprise(b: ot.Dimension, t: ot.Dimension) -> Tensor:
    """The error of a value function at every step of every episode."""
    reward, value = ot.input("reward", over=(b, t)), ot.input("value", over=(b, t))
    last = t.size - 1
    after = ot.where(ot.index(t) < last, value[b, ot.minimum(t + 1, last)], 0.0)
    return reward + DISCOUNT * after - value


def gae_recurrence() -> ot.Program:
    b, t = ot.dims("b t")
    surprise = _surprise(b, t)
    advantage = ot.recurrent("advantage", over=(b, t))
    advantage[b, t.size - 1] = surprise[b, t.size - 1]
    advantage[b, t] = surprise + DISCOUNT * TRACE * advantage[b, t + 1]
    return ot.Program(advantage=advantage)


def gae_sum() -> ot.Program:
    b, t = ot.dims("b t")
    return ot.Program(advantage=ot.discounted_sum(_surprise(b, t)[b, t:], DISCOUNT * TRACE))


def returns_sum() -> ot.Program:
    b, t = ot.dims("b t")
    return ot.Program(y=ot.discounted_sum(ot.input("reward", over=(b, t))[b, t:], DISCOUNT))


def returns_recurrence() -> ot.Program:
    b, t = ot.dims("b t")
    reward = ot.input("reward", over=(b, t))
    y = ot.recurrent("y", over=(b, t))
    y[b, t.size - 1] = reward[b, t.size - 1]
    y[b, t] = reward + DISCOUNT * y[b, t + 1]
    return ot.Program(y=y)


def returns_n_steps() -> ot.Program:
    b, t = ot.dims("b t")
    reward = ot.input("reward", over=(b, t))
    return ot.Program(y=ot.discounted_sum(reward[b, t : ot.minimum(t + 10, t.size)], DISCOUNT))


def prefix_sum() -> ot.Program:
    b, t = ot.dims("b t")
    x = ot.input("x", over=(b, t))
    return ot.Program(y=x[b, : t + 1].sum(0) / (t + 1))


def window_sum() -> ot.Program:
    b, t = ot.dims("b t")
    return ot.Program(y=ot.input("x", over=(b, t))[b, ot.maximum(t - 31, 0) : t + 1].sum(0))


def window_max() -> ot.Program:
    b, t = ot.dims("b t")
    return ot.Program(y=ot.input("x", over=(b, t))[b, ot.maximum(t - 15, 0) : t + 1].max(0))


def running_moments() -> ot.Program:
    b, t = ot.dims("b t")
    so_far = ot.input("x", over=(b, t))[b, : t + 1]
    return ot.Program(mean=so_far.mean(0), variance=so_far.var(0))


def exponential_average() -> ot.Program:
    b, t = ot.dims("b t")
    x = ot.input("x", over=(b, t))
    y = ot.recurrent("y", over=(b, t))
    y[b, 0] = x[b, 0]
    y[b, t + 1] = 0.9 * y + 0.1 * x[b, t + 1]
    return ot.Program(y=y, deviation=ot.abs(x - y)[b, :].max(0))


def kalman() -> ot.Program:
    """A constant velocity and its uncertainty, corrected by noisy places."""
    b, t = ot.dims("b t")
    seen = ot.input("seen", over=(b, t))
    place, spread = (ot.recurrent(name, over=(b, t)) for name in ("place", "spread"))
    gain = (spread + 0.01) / (spread + 0.11)
    place[b, 0], spread[b, 0] = seen[b, 0], 1.0
    place[b, t + 1] = place + gain * (seen[b, t + 1] - place)
    spread[b, t + 1] = (1.0 - gain) * (spread + 0.01)
    return ot.Program(place=place, spread=spread)


def random_walk() -> ot.Program:
    b, t = ot.dims("b t")
    x = ot.recurrent("x", over=(b, t))
    x[b, 0] = 0.0
    x[b, t + 1] = 0.99 * x + ot.random.normal(over=(b, t))
    return ot.Program(mean=x[:, t].mean(0), last=x[b, t.size - 1])


def logistic() -> ot.Program:
    b, t = ot.dims("b t")
    x = ot.recurrent("x", dtype="float64", over=(b, t))
    x[b, 0] = ot.input("start", dtype="float64", over=b)
    x[b, t + 1] = 3.7 * x * (1.0 - x)
    return ot.Program(last=x[b, t.size - 1], mean=x[b, :].mean(0))


def linear_system() -> ot.Program:
    """A state of 64 numbers moved by a matrix, one step after the other."""
    t = ot.dims("t")
    matrix = ot.input("matrix", shape=(64, 64))
    x = ot.recurrent("x", shape=(64,), over=t)
    x[0] = ot.input("start", shape=(64,))
    x[t + 1] = ot.tanh(matrix @ x * 0.05)
    return ot.Program(last=x[t.size - 1])
