"""Filters, dynamic programs, decoders, stencils, samplers and optimisers, as people write them.

They were written before anybody looked at what the compiler makes of them. The work of each grows
with the number of points, and no faster; `GAPS` has those of which it still does.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

import ostinato as ot
from ostinato.language.tensor import Tensor

STATES = 16


def _series(name: str = "x") -> tuple[ot.Dimension, ot.Dimension, Tensor]:
    b, t = ot.dims("b t")
    return b, t, ot.input(name, over=(b, t))


def _age(t: ot.Dimension) -> Tensor:
    """How many steps ago each step so far was."""
    return (ot.index(t) - ot.arange(t + 1)).cast("float32")


# ---------------------------------------------------------------------------------- filters


def centred_mean() -> ot.Program:
    """The mean of four steps on either side, fewer at the ends."""
    b, t, x = _series()
    return ot.Program(y=x[b, ot.maximum(t - 4, 0) : ot.minimum(t + 5, t.size)].mean(0))


def corrected_average() -> ot.Program:
    """An exponential average over its weights: sum of 0.9^age x over sum of 0.9^age."""
    b, t, x = _series()
    weight = 0.9 ** _age(t)
    return ot.Program(y=(weight * x[b, : t + 1]).sum(0) / weight.sum(0))


def leaky_integrator() -> ot.Program:
    """The sum of exp(-(t - s) / 20) x[s] over all steps so far."""
    b, t, x = _series()
    return ot.Program(y=(ot.exp(-_age(t) / 20.0) * x[b, : t + 1]).sum(0))


def biquad() -> ot.Program:
    """A second-order section: three values seen and the two made before, weighted."""
    b, t, x = _series()
    y = ot.recurrent("y", over=(b, t))
    y[b, 0], y[b, 1] = 0.0, 0.0
    y[b, t + 2] = 0.2 * x[b, t + 2] + 0.3 * x[b, t + 1] + 0.2 * x + 0.9 * y[b, t + 1] - 0.4 * y
    return ot.Program(y=y)


def level_and_trend() -> ot.Program:
    """Double exponential smoothing."""
    b, t, x = _series()
    level, trend = (ot.recurrent(name, over=(b, t)) for name in ("level", "trend"))
    level[b, 0], trend[b, 0] = x[b, 0], 0.0
    level[b, t + 1] = 0.3 * x[b, t + 1] + 0.7 * (level + trend)
    trend[b, t + 1] = 0.1 * (level[b, t + 1] - level) + 0.9 * trend
    return ot.Program(forecast=level + trend)


def drawdown() -> ot.Program:
    """How far a value is below the greatest so far, and the worst of these so far."""
    b, t, x = _series()
    below = x[b, : t + 1].max(0) - x
    return ot.Program(below=below, worst=below[b, : t + 1].max(0))


def standard_score() -> ot.Program:
    """A value in standard deviations from the mean of all so far."""
    b, t, x = _series()
    so_far = x[b, : t + 1]
    return ot.Program(y=(x - so_far.mean(0)) / ot.sqrt(so_far.var(0) + 1e-3))


# ------------------------------------------------------------------------- dynamic programs


def viterbi() -> ot.Program:
    """The score of the best path into each state."""
    b, t = ot.dims("b t")
    moves, seen = ot.input("moves", (STATES, STATES)), ot.input("seen", (STATES,), over=(b, t))
    score = ot.recurrent("score", (STATES,), over=(b, t))
    score[b, 0] = seen[b, 0]
    score[b, t + 1] = (score[..., :, None] + moves).max(0) + seen[b, t + 1]
    return ot.Program(best=score[b, t.size - 1].max(0))


def forward_algorithm() -> ot.Program:
    """The logarithm of the probability of what was seen, over all paths."""
    b, t = ot.dims("b t")
    moves, seen = ot.input("moves", (STATES, STATES)), ot.input("seen", (STATES,), over=(b, t))
    alpha = ot.recurrent("alpha", (STATES,), over=(b, t))
    alpha[b, 0] = seen[b, 0]
    alpha[b, t + 1] = ot.logsumexp(alpha[..., :, None] + moves, 0) + seen[b, t + 1]
    return ot.Program(evidence=ot.logsumexp(alpha[b, t.size - 1], 0))


def edit_distance() -> ot.Program:
    """The least number of insertions, deletions and changes between two words' prefixes."""
    i, j = ot.dims("i j")
    first, second = ot.input("first", over=i), ot.input("second", over=j)
    d = ot.recurrent("d", over=(i, j))
    d[0, 0] = 0.0
    d[i + 1, 0] = d[i, 0] + 1.0
    d[0, j + 1] = d[0, j] + 1.0
    change = d + ot.where(first == second, 0.0, 1.0)
    d[i + 1, j + 1] = ot.minimum(change, ot.minimum(d[i, j + 1], d[i + 1, j]) + 1.0)
    return ot.Program(d=d)


def best_stretch() -> ot.Program:
    """The greatest sum of neighbouring steps that ends at each step, and of all so far."""
    b, t, x = _series()
    ending = ot.recurrent("ending", over=(b, t))
    ending[b, 0] = x[b, 0] - 0.5
    ending[b, t + 1] = ot.maximum(ending, 0.0) + x[b, t + 1] - 0.5
    return ot.Program(best=ending[b, : t + 1].max(0))


def optimal_stopping() -> ot.Program:
    """What an option is worth: now, or discounted if one waits."""
    b, t, x = _series("payoff")
    value = ot.recurrent("value", over=(b, t))
    value[b, t.size - 1] = x[b, t.size - 1]
    value[b, t] = ot.maximum(x, 0.99 * value[b, t + 1])
    return ot.Program(value=value)


def shortest_paths() -> ot.Program:
    """Distances from a node over at most t edges."""
    t = ot.dims("t")
    edges = ot.input("edges", (STATES, STATES))
    far = ot.recurrent("far", (STATES,), over=t)
    far[0] = ot.where(ot.arange(STATES) == 0, 0.0, 1e3)
    far[t + 1] = ot.minimum(far, (far[..., :, None] + edges).min(0))
    return ot.Program(far=far[t.size - 1])


def value_iteration() -> ot.Program:
    """The greatest of reward + 0.9 moves value over four actions."""
    t = ot.dims("t")
    moves, reward = ot.input("moves", (4, STATES, STATES)), ot.input("reward", (4, STATES))
    value = ot.recurrent("value", (STATES,), over=t)
    value[0] = 0.0
    chances = moves / moves.sum(-1, keepdims=True)
    value[t + 1] = (reward + 0.9 * (chances @ value)).max(0)
    return ot.Program(value=value[t.size - 1])


# --------------------------------------------------------------------------------- decoders


def greedy_decoder() -> ot.Program:
    """The most likely token feeds the next step."""
    b, t = ot.dims("b t")
    table, head = ot.input("table", (STATES, 32)), ot.input("head", (32, STATES))
    token = ot.recurrent("token", dtype="int32", over=(b, t))
    token[b, 0] = ot.input("start", dtype="int32", over=b)
    token[b, t + 1] = (ot.tanh(ot.take(table, token, axis=0)) @ head).argmax(0)
    return ot.Program(token=token)


def linear_attention() -> ot.Program:
    """A query times the sum of k v^T so far, written as scores of all steps so far."""
    b, t = ot.dims("b t")
    q, k, v = (ot.input(name, (16,), over=(b, t)) for name in "qkv")
    return ot.Program(y=(k[b, : t + 1] @ q) @ v[b, : t + 1])


def attention_with_distance() -> ot.Program:
    """Scores of keys alone, less 0.1 for every step ago, softmax, and the values' mean."""
    b, t = ot.dims("b t")
    score, v = ot.input("score", over=(b, t)), ot.input("v", (16,), over=(b, t))
    weight = ot.softmax(score[b, : t + 1] - 0.1 * _age(t))
    return ot.Program(y=(weight[..., None] * v[b, : t + 1]).sum(0))


def depthwise_convolution() -> ot.Program:
    """Each channel over its last four steps."""
    b, t = ot.dims("b t")
    x, w = ot.input("x", (32,), over=(b, t)), ot.input("w", (4, 32))
    taps = [
        ot.where(ot.index(t) >= k, x[b, ot.maximum(t - k, 0)], 0.0) * w[..., k, :] for k in range(4)
    ]
    return ot.Program(y=taps[0] + taps[1] + taps[2] + taps[3])


def diagonal_state_space() -> ot.Program:
    """Sixteen decaying states of an input, read by a vector."""
    b, t, x = _series()
    decay, into, out = (ot.input(name, (16,)) for name in ("decay", "into", "out"))
    state = ot.recurrent("state", (16,), over=(b, t))
    state[b, 0] = into * x[b, 0]
    state[b, t + 1] = decay * state + into * x[b, t + 1]
    return ot.Program(y=(state * out).sum(0))


# --------------------------------------------------------------------------------- stencils


def heat() -> ot.Program:
    """A ring of 64 cells that even out."""
    b, t = ot.dims("b t")
    u = ot.recurrent("u", (64,), over=(b, t))
    u[b, 0] = ot.input("start", (64,), over=b)
    u[b, t + 1] = u + 0.1 * (ot.roll(u, 1, 0) - 2.0 * u + ot.roll(u, -1, 0))
    return ot.Program(u=u[b, t.size - 1])


def waves() -> ot.Program:
    """A ring of 64 cells, from the two steps before."""
    b, t = ot.dims("b t")
    start = ot.input("start", (64,), over=b)
    u = ot.recurrent("u", (64,), over=(b, t))
    u[b, 0], u[b, 1] = start, start
    now = u[b, t + 1]
    u[b, t + 2] = 2.0 * now - u + 0.2 * (ot.roll(now, 1, 0) - 2.0 * now + ot.roll(now, -1, 0))
    return ot.Program(energy=(u[b, t.size - 1] ** 2.0).sum(0))


def game_of_life() -> ot.Program:
    """Cells with three living neighbours live, and those alive with two."""
    t = ot.dims("t")
    cells = ot.recurrent("cells", (16, 16), over=t)
    cells[0] = ot.input("start", (16, 16)).cast("int32").cast("float32")
    rows = cells + ot.roll(cells, 1, 0) + ot.roll(cells, -1, 0)
    around = rows + ot.roll(rows, 1, 1) + ot.roll(rows, -1, 1) - cells
    cells[t + 1] = ot.where((around == 3.0) | ((around == 2.0) & (cells == 1.0)), 1.0, 0.0)
    return ot.Program(cells=cells[t.size - 1])


def summed_area() -> ot.Program:
    """The sum of all that lies above and to the left."""
    i, j = ot.dims("i j")
    return ot.Program(y=ot.input("x", over=(i, j))[: i + 1, : j + 1].sum((0, 1)))


# --------------------------------------------------------------------------------- samplers


def metropolis() -> ot.Program:
    """Steps of a random walk that are taken as often as the normal density says."""
    b, t = ot.dims("b t")
    x = ot.recurrent("x", over=(b, t))
    x[b, 0] = 0.0
    proposed = x + ot.random.normal(over=(b, t))
    odds = ot.exp(0.5 * (x * x - proposed * proposed))
    x[b, t + 1] = ot.where(ot.random.uniform(over=(b, t)) < odds, proposed, x)
    return ot.Program(mean=x[b, : t + 1].mean(0))


def langevin() -> ot.Program:
    """Gradient steps on a double well, with noise."""
    b, t = ot.dims("b t")
    x = ot.recurrent("x", over=(b, t))
    x[b, 0] = 0.0
    x[b, t + 1] = x - 0.05 * (x * x * x - x) + 0.3 * ot.random.normal(over=(b, t))
    return ot.Program(second=(x * x)[b, : t + 1].mean(0))


def weighted_estimate() -> ot.Program:
    """The mean of all samples so far by their importance, from logarithms of weights."""
    b, t, x = _series()
    weight = ot.softmax(ot.input("log_weight", over=(b, t))[b, : t + 1])
    return ot.Program(mean=(weight * x[b, : t + 1]).sum(0), size=1.0 / (weight**2.0).sum(0))


# ------------------------------------------------------------------------------- optimisers


def momentum() -> ot.Program:
    """Gradient steps with momentum on |A x - y|^2, and the mean of all iterates so far."""
    t = ot.dims("t")
    a, y = ot.input("a", (32, 16)) / 4.0, ot.input("y", (32,))
    x, speed = (ot.recurrent(name, (16,), over=t) for name in ("x", "speed"))
    x[0], speed[0] = 0.0, 0.0
    speed[t + 1] = 0.9 * speed - 0.01 * (a.T @ (a @ x - y))
    x[t + 1] = x + speed[t + 1]
    return ot.Program(mean=x[: t + 1].mean(0))


def adam() -> ot.Program:
    """Adam on |A x - y|^2."""
    t = ot.dims("t")
    a, y = ot.input("a", (32, 16)) / 4.0, ot.input("y", (32,))
    x, first, second = (ot.recurrent(name, (16,), over=t) for name in ("x", "first", "second"))
    x[0], first[0], second[0] = 0.0, 0.0, 0.0
    slope = a.T @ (a @ x - y)
    first[t + 1] = 0.9 * first + 0.1 * slope
    second[t + 1] = 0.99 * second + 0.01 * slope**2.0
    x[t + 1] = x - 0.01 * first[t + 1] / (ot.sqrt(second[t + 1]) + 1e-6)
    return ot.Program(x=x[t.size - 1])


def power_iteration() -> ot.Program:
    """The direction that a matrix stretches most."""
    t = ot.dims("t")
    a = ot.input("a", (STATES, STATES))
    x = ot.recurrent("x", (STATES,), over=t)
    x[0] = 1.0 / math.sqrt(STATES)
    moved = a @ x
    x[t + 1] = moved / ot.sqrt((moved**2.0).sum(0))
    return ot.Program(x=x[t.size - 1])


def normalised_updates() -> ot.Program:
    """Steps over the root of the sum of all squared slopes so far, on given slopes."""
    b, t = ot.dims("b t")
    slope = ot.input("slope", over=(b, t))
    step = slope / ot.sqrt((slope**2.0)[b, : t + 1].sum(0) + 1e-6)
    return ot.Program(x=-0.1 * step[b, : t + 1].sum(0))


SERIES, STEPS = {"B": 64, "T": 512}, {"T": 512}
PROGRAMS: Mapping[str, tuple[Callable[[], ot.Program], Mapping[str, int]]] = {
    "mean around each step": (centred_mean, SERIES),
    "average by its weights": (corrected_average, SERIES),
    "leaky integrator": (leaky_integrator, SERIES),
    "second-order filter": (biquad, SERIES),
    "level and trend": (level_and_trend, SERIES),
    "drawdown": (drawdown, SERIES),
    "standard score": (standard_score, SERIES),
    "best path of states": (viterbi, SERIES),
    "probability of states": (forward_algorithm, SERIES),
    "edit distance": (edit_distance, {"I": 128, "J": 128}),
    "best stretch": (best_stretch, SERIES),
    "optimal stopping": (optimal_stopping, SERIES),
    "shortest paths": (shortest_paths, STEPS),
    "value iteration": (value_iteration, STEPS),
    "greedy decoder": (greedy_decoder, SERIES),
    "linear attention": (linear_attention, {"B": 4, "T": 256}),
    "attention with distance": (attention_with_distance, {"B": 4, "T": 256}),
    "depthwise convolution": (depthwise_convolution, SERIES),
    "diagonal state space": (diagonal_state_space, SERIES),
    "heat": (heat, SERIES),
    "waves": (waves, SERIES),
    "game of life": (game_of_life, STEPS),
    "summed area": (summed_area, {"I": 256, "J": 256}),
    "metropolis": (metropolis, SERIES),
    "langevin": (langevin, SERIES),
    "weighted estimate": (weighted_estimate, SERIES),
    "momentum": (momentum, STEPS),
    "adam": (adam, STEPS),
    "power iteration": (power_iteration, STEPS),
    "updates by all before": (normalised_updates, SERIES),
}
# Scores that fall with distance need a maximum that falls too, which no operator has; the square of
# a softmax is not known as a softmax of twice the scores.
GAPS = frozenset(("attention with distance", "weighted estimate"))
