"""Ten updates of soft actor-critic against the same written out in NumPy."""

from __future__ import annotations

import numpy as np

from ostinato import rl
from tests.rl.by_hand import Adam, Array, Erratic, Layers, backward, forward, recorded

GAMES, STEPS, UPDATES, BATCH, SIZE = 2, 5, 5, 12, 2
DISCOUNT, DECAY, RATE, LOW, HIGH, WANTED = 0.9, 0.7, 0.02, -1.5, 2.5, -0.5
HALF = 0.5 * (HIGH - LOW)


def policy(actor: Layers, x: Array) -> tuple[list[Array], Array, Array, Array]:
    """What the layers hold, the means, the logarithms of the deviations, and the slope of these."""
    kept = forward(actor, x, "relu")
    mean, spread = kept[-1][:, :SIZE], np.tanh(kept[-1][:, SIZE:])
    return kept, mean, -5.0 + 3.5 * (spread + 1.0), 3.5 * (1.0 - spread**2)


def log_density(u: Array, mean: Array, log_std: Array) -> Array:
    """That of the action that ``u`` is squashed to."""
    normal = -0.5 * ((u - mean) / np.exp(log_std)) ** 2 - log_std - 0.5 * np.log(2 * np.pi)
    found: Array = (normal - np.log(HALF * (1.0 - np.tanh(u) ** 2))).sum(-1)
    return found


def action(u: Array) -> Array:
    found: Array = LOW + HALF * (np.tanh(u) + 1.0)
    return found


def judged(critic: Layers, x: Array, of: Array) -> list[Array]:
    return forward(critic, np.concatenate([x, of], -1), "relu")


def critic_gradients(
    critics: list[Layers], slow: list[Layers], actor: Layers, heat: float, rows: dict[str, Array]
) -> Layers:
    _, mean, log_std, _ = policy(actor, rows["following"])
    u = rows["drawn_after"]
    after = np.minimum(*(judged(c, rows["following"], action(u))[-1][:, 0] for c in slow))
    soft = after - heat * log_density(u, mean, log_std)
    target = rows["reward"] + DISCOUNT * np.where(rows["terminated"], 0.0, soft)
    found: Layers = []
    for critic in critics:
        kept = judged(critic, rows["observation"], rows["action"])
        slope = 2.0 / BATCH * (kept[-1] - target[:, None])
        found += backward(critic, kept, slope, "relu")[0]
    return found


def actor_gradients(
    critics: list[Layers], actor: Layers, heat: float, rows: dict[str, Array]
) -> tuple[Layers, float]:
    """Those of E[alpha log pi - min Q] through the drawn action; and the mean of log pi."""
    x, u = rows["observation"], rows["drawn"]
    kept, mean, log_std, bend = policy(actor, x)
    noise = (u - mean) / np.exp(log_std)  # what the draw was made of does not depend on the actor
    all_kept = [judged(critic, x, action(u)) for critic in critics]
    first = all_kept[0][-1] < all_kept[1][-1]
    by_action = np.zeros_like(u)
    for k, critic in enumerate(critics):
        slope = -(first if k == 0 else ~first).astype(float) / BATCH
        by_action += backward(critic, all_kept[k], slope, "relu")[1][:, -SIZE:]
    squash = np.tanh(u)
    # log pi = -noise**2 / 2 - log_std - log(1 - tanh(u)**2) + constants, and u = mean + std noise
    by_u = by_action * HALF * (1.0 - squash**2) + heat / BATCH * 2.0 * squash
    by_log_std = by_u * noise * np.exp(log_std) - heat / BATCH
    slopes, _ = backward(actor, kept, np.concatenate([by_u, by_log_std * bend], -1), "relu")
    return slopes, float(log_density(u, mean, log_std).mean())


def test_ten_updates_of_sac() -> None:
    training = rl.sac(
        Erratic(rl.Box(SIZE, LOW, HIGH)), games=GAMES, steps=STEPS, iterations=4, updates=UPDATES,
        batch=BATCH, window=3, start=1, hidden=(6, 5), learning_rate=RATE, decay=DECAY,
        discount=DISCOUNT, entropy=WANTED,
    )  # fmt: skip
    x, nets = recorded(training, {n: m.parameters for n, m in training.networks.items()})
    assert x["terminated"].any()
    actor, *critics = ([w[0, 0] for w in nets[n]] for n in ("actor", "critic_0", "critic_1"))
    slow, log_heat = critics, np.zeros(())
    adams = [Adam(RATE) for _ in range(3)]
    for i in range(3):
        for m in range(UPDATES):
            known = [*actor, *critics[0], *critics[1]]
            wanted = [w[i, m] for n in ("actor", "critic_0", "critic_1") for w in nets[n]]
            for w, expected in zip(wanted, known, strict=True):
                np.testing.assert_allclose(w, expected, atol=1e-5)
            np.testing.assert_allclose(x["log_temperature"][i, m], log_heat, atol=1e-5)
            number = x["rows_number"][i, m].astype(int)
            at = x["rows_game"][i, m].astype(int), number // STEPS, number % STEPS
            names = ("observation", "action", "reward", "terminated", "following")
            rows = {n: x[n][at] for n in names}
            rows |= {n: x[n][i, m] for n in ("drawn", "drawn_after")}
            if i >= 1:
                heat = float(np.exp(log_heat))
                by_critics = critic_gradients(critics, slow, actor, heat, rows)
                by_actor, log_prob = actor_gradients(critics, actor, heat, rows)
                both = adams[0].step([*critics[0], *critics[1]], by_critics)
                actor = adams[1].step(actor, by_actor)
                (log_heat,) = adams[2].step([log_heat], [np.asarray(heat * (-log_prob - WANTED))])
                critics = [both[:6], both[6:]]
            slow = [
                [DECAY * a + (1 - DECAY) * b for a, b in zip(old, new, strict=True)]
                for old, new in zip(slow, critics, strict=True)
            ]
    assert adams[0].count == 10
