"""Ten updates of PPO against the same written out in NumPy, on what the program played."""

from __future__ import annotations

import numpy as np
import pytest

from ostinato import rl
from tests.rl.by_hand import Adam, Array, Erratic, Layers, backward, forward, recorded

GAMES, STEPS, EPOCHS, PARTS = 4, 12, 5, 2
DISCOUNT, TRACE, CLIP, ENTROPY, WEIGHT, NORM, RATE = 0.9, 0.8, 0.1, 0.02, 0.7, 0.4, 0.02


def advantages(x: dict[str, Array], critic: Layers) -> tuple[Array, Array]:
    """The values of all steps, and how much better than these they were, step by step."""
    value, after = (
        forward(critic, x[name][:, 0], "tanh")[-1][..., 0] for name in ("observation", "following")
    )
    found = np.zeros((GAMES, STEPS))
    for game in range(GAMES):
        later = 0.0
        for t in reversed(range(STEPS)):
            over, cut = x["terminated"][game, 0, t], x["truncated"][game, 0, t]
            follows = 0.0 if over else DISCOUNT * after[game, t]
            if over or cut:
                later = 0.0
            later = x["reward"][game, 0, t] + follows - value[game, t] + DISCOUNT * TRACE * later
            found[game, t] = later
    return value, found


def gradients(actor: Layers, critic: Layers, rows: dict[str, Array], clips: bool) -> list[Array]:
    """Those of the loss of a minibatch, by the chain rule."""
    n = len(rows["x"])
    thought, judged = forward(actor, rows["x"], "tanh"), forward(critic, rows["x"], "tanh")
    logits = thought[-1] - thought[-1].max(-1, keepdims=True)
    log_p = logits - np.log(np.exp(logits).sum(-1, keepdims=True))
    p, chosen = np.exp(log_p), np.eye(3)[rows["action"].astype(int)]
    ratio = np.exp((log_p * chosen).sum(-1) - rows["log_prob"])
    gain = (rows["gain"] - rows["gain"].mean()) / (rows["gain"].std() + 1e-8)
    inside = (ratio > 1 - CLIP) & (ratio < 1 + CLIP)
    counts = inside | (ratio * gain < np.clip(ratio, 1 - CLIP, 1 + CLIP) * gain)
    by_log_p = -(counts * ratio * gain)[:, None] / n
    entropy = -(p * log_p).sum(-1, keepdims=True)
    by_entropy = ENTROPY / n * p * (log_p + entropy)
    slopes, _ = backward(actor, thought, by_log_p * (chosen - p) + by_entropy, "tanh")
    new, old, target = judged[-1][:, 0], rows["old"], rows["gain"] + rows["old"]
    by_value = 2.0 * (new - target)
    if clips:
        moved = old + np.clip(new - old, -CLIP, CLIP)
        worse = (moved - target) ** 2 > (new - target) ** 2
        by_value = np.where(worse, 2.0 * (moved - target) * (np.abs(new - old) < CLIP), by_value)
    more, _ = backward(critic, judged, WEIGHT / n * by_value[:, None], "tanh")
    return [*slopes, *more]


@pytest.mark.parametrize("clips", [False, True])
def test_ten_updates_of_ppo(clips: bool) -> None:
    training = rl.ppo(
        Erratic(rl.Discrete(3)), games=GAMES, steps=STEPS, iterations=2, epochs=EPOCHS,
        minibatches=PARTS, hidden=(6, 5), discount=DISCOUNT, trace=TRACE, clip=CLIP,
        entropy=ENTROPY, value_weight=WEIGHT, norm=NORM, learning_rate=RATE, clip_value=clips,
    )  # fmt: skip
    x, nets = recorded(training, {n: m.parameters for n, m in training.networks.items()})
    assert x["terminated"].any() and x["truncated"].any()
    first = {name: [w[0, 0, 0] for w in layers] for name, layers in nets.items()}
    parameters, adam = [*first["actor"], *first["critic"]], Adam(RATE, 1e-5, NORM)
    value, gain = advantages(x, first["critic"])
    known = np.concatenate([nets["actor"][0][0].ravel(), nets["critic"][0][0].ravel()])
    assert np.unique(known).size > 100
    for epoch in range(EPOCHS):
        for part in range(PARTS):
            wanted = [w[0, epoch, part] for name in ("actor", "critic") for w in nets[name]]
            for w, expected in zip(wanted, parameters, strict=True):
                np.testing.assert_allclose(w, expected, atol=1e-5)
            b, t = (x[f"rows_{name}"][0, epoch, part].astype(int) for name in "bt")
            rows = {n: x[n][b, 0, t] for n in ("action", "log_prob")}
            rows |= {"x": x["observation"][b, 0, t], "gain": gain[b, t], "old": value[b, t]}
            slopes = gradients(parameters[:6], parameters[6:], rows, clips)
            parameters = adam.step(parameters, slopes)
    wanted = [w[1, 0, 0] for name in ("actor", "critic") for w in nets[name]]
    for w, expected in zip(wanted, parameters, strict=True):
        np.testing.assert_allclose(w, expected, atol=1e-5)
