"""Ten updates of DQN against the same written out in NumPy, on the steps that it drew."""

from __future__ import annotations

import numpy as np
import pytest

from ostinato import rl
from tests.rl.by_hand import Adam, Array, Erratic, Layers, backward, forward, recorded

GAMES, STEPS, UPDATES, BATCH, WINDOW, START = 2, 6, 5, 16, 2, 1
DISCOUNT, DECAY, NORM, RATE, AHEAD = 0.9, 0.7, 0.3, 0.02, 3


def values(layers: Layers, x: Array, dueling: bool) -> Array:
    out = forward(layers, x, "relu")[-1]
    return out[:, :1] + out[:, 1:] - out[:, 1:].mean(-1, keepdims=True) if dueling else out


def outcome(x: dict[str, Array], game: int, number: int) -> tuple[float, float, Array]:
    """The rewards of some steps, and how what follows counts, one step after the other."""
    earned, weight, at = 0.0, 1.0, (game, 0, 0)
    for k in range(AHEAD):
        at = game, (number + k) // STEPS, (number + k) % STEPS
        earned += weight * x["reward"][at]
        weight *= DISCOUNT
        if x["terminated"][at]:
            return earned, 0.0, x["following"][at]
        if x["truncated"][at] or k == AHEAD - 1:
            break
    return earned, weight, x["following"][at]


def gradients(
    fast: Layers, slow: Layers, x: dict[str, Array], rows: list[tuple[int, int]], both: bool
) -> Layers:
    """Those of the mean squared error of the values of the actions that were taken."""
    at = tuple(np.array([(g, n // STEPS, n % STEPS) for g, n in rows]).T)
    earned, weight, following = map(np.array, zip(*(outcome(x, *row) for row in rows), strict=True))
    after = values(slow, following, both)
    chosen = (values(fast, following, both) if both else after).argmax(-1)
    target = earned + weight * after[np.arange(BATCH), chosen]
    taken = np.eye(3)[x["action"][at].astype(int)]
    error = (values(fast, x["observation"][at], both) * taken).sum(-1) - target
    slope = 2.0 / BATCH * error[:, None] * taken
    if both:
        total = slope.sum(-1, keepdims=True)
        slope = np.concatenate([total, slope - total / 3], -1)
    return backward(fast, forward(fast, x["observation"][at], "relu"), slope, "relu")[0]


@pytest.mark.parametrize("both", [False, True], ids=["plain", "double and dueling"])
def test_ten_updates_of_dqn(both: bool) -> None:
    training = rl.dqn(
        Erratic(rl.Discrete(3)), games=GAMES, steps=STEPS, iterations=4, updates=UPDATES,
        batch=BATCH, window=WINDOW, start=START, hidden=(6, 5), learning_rate=RATE, decay=DECAY,
        discount=DISCOUNT, norm=NORM, lookahead=AHEAD, double=both, dueling=both,
    )  # fmt: skip
    x, nets = recorded(training, {n: m.parameters for n, m in training.networks.items()})
    fast = slow = [w[0, 0] for w in nets["values"]]
    adam = Adam(RATE, norm=NORM)
    for i in range(3):
        for m in range(UPDATES):
            for name, expected in (("values", fast), ("slow", slow)):
                for w, layer in zip(nets[name], expected, strict=True):
                    np.testing.assert_allclose(w[i, m], layer, atol=1e-5)
            drawn = [x[f"rows_{name}"][i, m].astype(int).tolist() for name in ("game", "number")]
            rows = list(zip(*drawn, strict=True))
            numbers = set(drawn[1])
            assert numbers <= set(range(max(i - 1, 0) * STEPS, (i + 1) * STEPS - AHEAD + 1))
            if i >= START:
                fast = adam.step(fast, gradients(fast, slow, x, rows, both))
            slow = [DECAY * a + (1 - DECAY) * b for a, b in zip(slow, fast, strict=True)]
    assert adam.count == 10
