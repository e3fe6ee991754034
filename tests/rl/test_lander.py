"""The lander can be landed, by the rule that lands Gymnasium's, and falls without engines."""

from __future__ import annotations

import numpy as np

import ostinato as ot
from ostinato import nn, rl


class Pilot(nn.Module):
    """Leans towards the pad, and fires where it falls faster than it should at that height."""

    def __call__(self, seen: ot.Tensor) -> ot.Tensor:
        x, y, vx, vy, angle, spin, left, right = (seen[..., k] for k in range(8))
        down = left + right > 0.0
        lean = ot.clip(0.5 * x + vx, -0.4, 0.4)
        turn = ot.where(down, 0.0, 0.5 * (lean - angle) - spin)
        lift = ot.where(down, -0.5 * vy, 0.5 * (0.55 * abs(x) - y) - 0.5 * vy)
        side = ot.where(turn < -0.05, 3, ot.where(turn > 0.05, 1, 0))
        return ot.where((lift > abs(turn)) & (lift > 0.05), 2, side)


class Nothing(nn.Module):
    def __call__(self, seen: ot.Tensor) -> ot.Tensor:
        return ot.constant(0)


def test_a_simple_rule_lands_it_every_time() -> None:
    played = rl.evaluate(rl.Lander(), Pilot(), {}, episodes=100)
    assert played.returns.min() > 200.0 and played.ended.all() and played.lengths.max() < 500


def test_without_engines_it_falls_and_crashes() -> None:
    played = rl.evaluate(rl.Lander(), Nothing(), {}, episodes=100)
    assert played.mean_return < -100.0
    states = rl.recorded(rl.Lander(), Nothing(), {})
    heights = np.array([state["motion"][1] for state in states])
    k = np.arange(len(states))
    fallen = heights[0] + states[0]["motion"][3] * 0.02 * k - 10.0 * 0.02**2 * k * (k + 1) / 2
    np.testing.assert_allclose(heights[:40], fallen[:40], atol=1e-3)


def test_engines_push_and_turn_to_their_sides() -> None:
    b = ot.dims("b")
    env = rl.Lander()
    before = ot.Record(
        motion=ot.constant([0.0, 5.0, 0.0, 0.0, 0.0, 0.0]), legs=ot.constant([False, False]),
        worth=ot.constant(0.0), still=ot.constant(0), steps=ot.constant(0),
    )  # fmt: skip
    following, *_ = env.step(before, ot.index(b))
    found = ot.Program(motion=following.motion).interpret(B=4)["motion"]
    _, _, vx, vy, _, spin = (found - found[0]).T / 0.02
    np.testing.assert_allclose(vx, [0.0, -2.4, 0.0, 2.4], atol=1e-4)
    np.testing.assert_allclose(vy, [0.0, 0.0, 17.5, 0.0], atol=1e-4)
    np.testing.assert_allclose(spin, [0.0, 6.7, 0.0, -6.7], atol=1e-4)
