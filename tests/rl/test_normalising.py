"""Running moments, scaled rewards and limits of divergence, against NumPy."""

from __future__ import annotations

import numpy as np
import pytest

import ostinato as ot
from ostinato import rl
from tests.rl.by_hand import Erratic


def test_moments_are_those_of_all_rows_of_the_iterations_before() -> None:
    b, i, t = ot.dims("b i t")
    x = ot.input("x", (3,), over=(b, i, t))
    moments = rl.Moments(3, i)
    moments.learn(x, b, t)
    given = np.random.default_rng(0).normal(5.0, [1.0, 2.0, 300.0], (4, 6, 5, 3))
    scaled = ot.Program(y=moments(x), std=ot.sqrt(moments.variance.after))
    for run in (scaled.interpret, scaled.compile()):
        found = run(x=given)
        for k in range(1, 6):
            before = given[:, :k].reshape(-1, 3)
            expected = (given[:, k] - before.mean(0)) / before.std(0)
            np.testing.assert_allclose(found["std"][k - 1], before.std(0), rtol=1e-5)
            np.testing.assert_allclose(found["y"][:, k], expected.clip(-10, 10), atol=1e-4)


def test_rewards_are_scaled_by_the_deviation_of_the_discounted_returns_so_far() -> None:
    b, i, t = ot.dims("b i t")
    games = rl.rollout(Erratic(rl.Discrete(2)), lambda seen: ot.constant(1), (b, i, t))
    scaled = rl.scaled_reward(games, 0.9, limit=1.5)
    found = ot.Program(y=scaled, r=games.reward, done=games.done).interpret(B=3, I=4, T=10)
    so_far, returns = np.zeros(3), np.zeros((3, 4, 10))
    for k, step in np.ndindex(4, 10):
        returns[:, k, step] = so_far = 0.9 * so_far + found["r"][:, k, step]
        so_far = np.where(found["done"][:, k, step], 0.0, so_far)
    for k in range(4):
        expected = (found["r"][:, k] / returns[:, : k + 1].std()).clip(-1.5, 1.5)
        np.testing.assert_allclose(found["y"][:, k], expected, rtol=1e-4)


@pytest.mark.parametrize(("limit", "moving"), [(1e-9, 2), (1e9, 6)])
def test_an_iteration_of_ppo_ends_with_the_first_minibatch_that_diverged(
    limit: float, moving: int
) -> None:
    training = rl.ppo(
        Erratic(rl.Discrete(3)), games=4, steps=6, iterations=2, epochs=3, minibatches=2,
        hidden=(4,), learning_rate=0.05, kl_limit=limit, anneal=False,
    )  # fmt: skip
    weights = ot.Program(w=training.policy.parameters[0])
    found = weights.interpret(B=4, I=2, T=6, E=3)["w"]
    weight = found.reshape(12, -1)  # before every update of two iterations
    changes = np.any(weight[1:] != weight[:-1], -1)
    # The first minibatch of an iteration has not diverged, and the second has.
    expected = [True] * 11 if moving == 6 else [True, *[False] * 5, True, *[False] * 4]
    assert changes.tolist() == expected


def test_a_policy_with_a_memory_keeps_how_what_it_sees_is_scaled() -> None:
    """What is seen is far from 0, so that unscaled it would tell the policy nothing."""

    class Far(rl.Wrapper[rl.Discrete]):
        def observe(self, state: ot.Record) -> ot.Tensor:
            return 1000.0 + 0.1 * super().observe(state)

    env = Far(rl.MemoryChain(3))
    training = rl.recurrent_ppo(env, iterations=60, memory=8)
    weights = rl.learnt(training, seed=0)
    moments = {name for name in weights if name.startswith("moments.")}
    assert moments == {"moments.mean", "moments.variance", "moments.count"}
    played = rl.evaluate(env, training.policy, weights, episodes=200)
    assert played.mean_return > 0.95
