"""REINFORCE on CartPole as one would write it in plain NumPy, vectorised over the episodes.

Every iteration plays all steps of all episodes; steps after the end of an episode are masked, as
in the other programs of the suite, so the computed work is the same.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from bench.harness.timing import rates

Array = npt.NDArray[np.floating]  # float32 in a run, float64 where a test differentiates
Params = list[Array]  # weight, bias, weight, bias, weight, bias

GRAVITY, CART, POLE, HALF_LENGTH, FORCE, TAU = 9.8, 1.0, 0.1, 0.5, 10.0, 0.02
X_LIMIT, THETA_LIMIT = 2.4, 12 * 2 * np.pi / 360
ADAM_FIRST, ADAM_SECOND, ADAM_EPSILON = 0.9, 0.999, 1e-8


@dataclass(frozen=True, slots=True)
class Setup:
    """The sizes and hyper-parameters that all programs of the suite share."""

    episodes: int = 64
    steps: int = 500
    hidden: int = 64
    gamma: float = 0.99
    learning_rate: float = 1e-2


@dataclass(frozen=True, slots=True)
class Batch:
    """One iteration's experience, time first: (t, b, ...)."""

    state: Array
    action: npt.NDArray[np.int64]
    alive: Array  # 1 while the episode runs, 0 after its end


def layers(setup: Setup) -> list[tuple[int, int, float]]:
    """Return inputs, outputs and scale of the weights of each layer."""
    return [(4, setup.hidden, 1.0), (setup.hidden, setup.hidden, 1.0), (setup.hidden, 2, 0.01)]


def initial_params(setup: Setup, rng: np.random.Generator) -> Params:
    params: Params = []
    for fan_in, fan_out, scale in layers(setup):
        weight = scale / np.sqrt(fan_in) * rng.normal(size=(fan_in, fan_out))
        params.append(weight.astype(np.float32))
        params.append(np.zeros(fan_out, np.float32))
    return params


def forward(params: Params, x: Array) -> tuple[Array, Array, Array]:
    """Return both hidden layers and the logits."""
    w1, b1, w2, b2, w3, b3 = params
    h1 = np.tanh(x @ w1 + b1)
    h2 = np.tanh(h1 @ w2 + b2)
    return h1, h2, h2 @ w3 + b3


def log_softmax(logits: Array) -> Array:
    shifted: Array = logits - logits.max(-1, keepdims=True)
    total: Array = np.exp(shifted).sum(-1, keepdims=True)
    return shifted - np.log(total)


def physics(state: Array, action: npt.NDArray[np.int64]) -> tuple[Array, npt.NDArray[np.bool_]]:
    """Return the next state and whether the pole fell, as Gymnasium's CartPole-v1."""
    _, x_dot, theta, theta_dot = state.T
    cos, sin = np.cos(theta), np.sin(theta)
    total, pole_moment = CART + POLE, POLE * HALF_LENGTH
    force = np.where(action == 1, np.float32(FORCE), np.float32(-FORCE))
    pull = (force + pole_moment * theta_dot**2 * sin) / total
    angular = (GRAVITY * sin - cos * pull) / (HALF_LENGTH * (4 / 3 - POLE * cos**2 / total))
    linear = pull - pole_moment * angular * cos / total
    change = np.stack([x_dot, linear, theta_dot, angular], axis=-1)
    after = (state + np.float32(TAU) * change).astype(np.float32)
    return after, (abs(after[:, 0]) > X_LIMIT) | (abs(after[:, 2]) > THETA_LIMIT)


def play(params: Params, setup: Setup, rng: np.random.Generator) -> Batch:
    b, t = setup.episodes, setup.steps
    states = np.empty((t, b, 4), np.float32)
    actions = np.empty((t, b), np.int64)
    alive = np.empty((t, b), np.float32)
    state = rng.uniform(-0.05, 0.05, (b, 4)).astype(np.float32)
    running = np.ones(b, np.bool_)
    for step in range(t):
        probability = np.exp(log_softmax(forward(params, state)[2]))
        action = (rng.random(b) > probability[:, 0]).astype(np.int64)
        states[step], actions[step], alive[step] = state, action, running
        after, fell = physics(state, action)
        running &= ~fell
        state = np.where(running[:, None], after, state)
    return Batch(states, actions, alive)


def advantages(alive: Array, gamma: float) -> Array:
    """Return the discounted rewards to come, normalised over the steps that were played."""
    returns = np.empty_like(alive)
    total = np.zeros(alive.shape[1], np.float32)
    for step in range(len(alive) - 1, -1, -1):
        total = alive[step] + np.float32(gamma) * total
        returns[step] = total
    count = alive.sum()
    mean = (returns * alive).sum() / count
    deviation = np.sqrt((((returns - mean) * alive) ** 2).sum() / count)
    weight: Array = (returns - mean) / (deviation + np.float32(1e-6)) * alive
    return weight


def gradient(params: Params, batch: Batch, weight: Array) -> tuple[float, Params]:
    """Return the loss ``-sum(weight * log p(action))`` and its gradient."""
    x = batch.state.reshape(-1, 4)
    action, scale = batch.action.ravel(), weight.ravel()[:, None]
    h1, h2, logits = forward(params, x)
    log_p = log_softmax(logits)
    loss = -float((log_p[np.arange(len(x)), action] * scale[:, 0]).sum())
    d_logits = (np.exp(log_p) - np.eye(2, dtype=np.float32)[action]) * scale
    d_h2 = d_logits @ params[4].T * (1 - h2**2)
    d_h1 = d_h2 @ params[2].T * (1 - h1**2)
    grads: Params = [
        x.T @ d_h1,
        d_h1.sum(0),
        h1.T @ d_h2,
        d_h2.sum(0),
        h2.T @ d_logits,
        d_logits.sum(0),
    ]
    return loss, grads


class Reinforce:
    """A training run: parameters, Adam's moments and the random numbers."""

    def __init__(self, setup: Setup, seed: int = 0) -> None:
        self.setup = setup
        self._rng = np.random.default_rng(seed)
        self.params = initial_params(setup, self._rng)
        self._first = [np.zeros_like(p) for p in self.params]
        self._second = [np.zeros_like(p) for p in self.params]
        self._count = 0

    def run(self, iterations: int) -> float:
        """Play and learn so many times; return the mean return of the last time."""
        episode_return = 0.0
        for _ in range(iterations):
            batch = play(self.params, self.setup, self._rng)
            weight = advantages(batch.alive, self.setup.gamma) / batch.alive.sum()
            self._adam(gradient(self.params, batch, weight)[1])
            episode_return = float(batch.alive.sum(0).mean())
        return episode_return

    def _adam(self, grads: Params) -> None:
        self._count += 1
        rate = self.setup.learning_rate * np.sqrt(1 - ADAM_SECOND**self._count)
        rate /= 1 - ADAM_FIRST**self._count
        moments = zip(self.params, grads, self._first, self._second, strict=True)
        for param, grad, first, second in moments:
            first += (1 - ADAM_FIRST) * (grad - first)
            second += (1 - ADAM_SECOND) * (grad**2 - second)
            param -= np.float32(rate) * first / (np.sqrt(second) + np.float32(ADAM_EPSILON))


def sampler(episodes: int, steps: int) -> Callable[[], float]:
    return rates(Reinforce(Setup(episodes, steps)).run, episodes * steps)
