"""Returns and advantages against loops over the steps, with episodes that end and are cut."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import ostinato as ot
from ostinato import rl

Array = npt.NDArray[Any]
GAMES, STEPS, DISCOUNT, TRACE = 5, 11, 0.9, 0.7


def episodes(seed: int) -> dict[str, Array]:
    """Steps of several games; every end occurs, also at the first and the last step."""
    draw = np.random.default_rng(seed)
    shape = (GAMES, STEPS)
    reward, value, after, log_ratio = (draw.normal(size=shape) for _ in range(4))
    terminated = draw.random(shape) < 0.2
    truncated = ~terminated & (draw.random(shape) < 0.2)
    terminated[:2, -1] = truncated[1:3, 0] = True
    truncated[:, -1] &= ~terminated[:, -1]
    return {
        **{"reward": reward, "value": value, "after": after, "log_ratio": log_ratio},
        **{"terminated": terminated, "truncated": truncated & ~terminated},
    }


def inputs(b: ot.Dimension, t: ot.Dimension) -> dict[str, ot.Tensor]:
    return {
        name: ot.input(name, dtype="bool" if array.dtype == bool else "float64", over=(b, t))
        for name, array in episodes(0).items()
    }


def backwards(step: Callable[[int, int, float | None], float]) -> Array:
    """``step(game, time, what follows)``, from the last step on; nothing follows the last one."""
    found = np.zeros((GAMES, STEPS))
    for game in range(GAMES):
        later: float | None = None
        for time in reversed(range(STEPS)):
            later = found[game, time] = step(game, time, later)
    return found


def lambda_returns(x: dict[str, Array], trace: float) -> Array:
    def step(b: int, t: int, later: float | None) -> float:
        if x["terminated"][b, t]:
            return float(x["reward"][b, t])
        after = float(x["after"][b, t])
        if later is not None and not x["truncated"][b, t]:
            after = (1 - trace) * after + trace * later
        return float(x["reward"][b, t]) + DISCOUNT * after

    return backwards(step)


@pytest.mark.parametrize("trace", [0.0, TRACE, 1.0])
@pytest.mark.parametrize("seed", range(3))
def test_lambda_returns_and_advantages(trace: float, seed: int) -> None:
    b, t = ot.dims("b t")
    of = inputs(b, t)
    ends = of["terminated"], of["truncated"]
    reward, value, after = of["reward"], of["value"], of["after"]
    program = ot.Program(
        returns=rl.lambda_return(reward, after, *ends, t, discount=DISCOUNT, trace=trace),
        advantage=rl.advantage(reward, value, after, *ends, t, discount=DISCOUNT, trace=trace),
    )
    given = episodes(seed)
    expected = lambda_returns(given, trace)
    # The sum of what was unexpected takes the value of a step for what was worth the one before.
    inner = {**given, "after": given["after"].copy()}
    ended = given["terminated"] | given["truncated"]
    inner["after"][:, :-1] = np.where(ended[:, :-1], given["after"][:, :-1], given["value"][:, 1:])
    known = {name: given[name] for name in ("reward", "after", "terminated", "truncated")}
    for run in (program.interpret, program.compile()):
        out = run(**known, value=given["value"])
        np.testing.assert_allclose(out["returns"], expected, rtol=1e-10)
        again = run(**{**known, "after": inner["after"]}, value=given["value"])
        gain = lambda_returns(inner, trace) - given["value"]
        np.testing.assert_allclose(again["advantage"], gain, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("steps", [1, 2, 3, 20])
def test_n_step_returns(steps: int) -> None:
    b, t = ot.dims("b t")
    of, given = inputs(b, t), episodes(1)
    ends = of["terminated"], of["truncated"]
    found = rl.n_step_return(of["reward"], of["after"], *ends, t, steps, discount=DISCOUNT)
    expected = np.zeros((GAMES, STEPS))
    for game, begin in np.ndindex(GAMES, STEPS):
        for k, time in enumerate(range(begin, min(begin + steps, STEPS))):
            expected[game, begin] += DISCOUNT**k * given["reward"][game, time]
            if given["terminated"][game, time]:
                break
            if given["truncated"][game, time] or time in (begin + steps - 1, STEPS - 1):
                expected[game, begin] += DISCOUNT ** (k + 1) * given["after"][game, time]
                break
    cut = ("truncated",) if steps > 1 else ()  # what a step of its own leads to is worth the same
    known = {name: given[name] for name in ("reward", "after", "terminated", *cut)}
    program = ot.Program(y=found)
    for run in (program.interpret, program.compile()):
        np.testing.assert_allclose(run(**known)["y"], expected, rtol=1e-10)


def test_v_trace_targets_and_advantages() -> None:
    b, t = ot.dims("b t")
    of, given = inputs(b, t), episodes(2)
    ends = of["terminated"], of["truncated"]
    values = of["reward"], of["value"], of["after"]
    target, gain = rl.v_trace(*values, *ends, t, of["log_ratio"], discount=DISCOUNT, most=1.5)
    ratio = np.exp(given["log_ratio"])
    weight, passed = np.minimum(ratio, 1.5), np.minimum(ratio, 1.0)
    after = np.where(given["terminated"], 0.0, given["after"])
    surprise = weight * (given["reward"] + DISCOUNT * after - given["value"])
    ended = given["terminated"] | given["truncated"]

    def step(b: int, t: int, later: float | None) -> float:
        follows = 0.0 if later is None or ended[b, t] else later
        return float(surprise[b, t] + DISCOUNT * passed[b, t] * follows)

    targets = given["value"] + backwards(step)
    followed = after.copy()
    followed[:, :-1] = np.where(ended[:, :-1], after[:, :-1], targets[:, 1:])
    gains = weight * (given["reward"] + DISCOUNT * followed - given["value"])
    program = ot.Program(target=target, gain=gain)
    for run in (program.interpret, program.compile()):
        out = run(**given)
        np.testing.assert_allclose(out["target"], targets, rtol=1e-9)
        np.testing.assert_allclose(out["gain"], gains, rtol=1e-9, atol=1e-12)


def test_on_its_own_policy_v_trace_is_the_monte_carlo_return() -> None:
    b, t = ot.dims("b t")
    of, given = inputs(b, t), episodes(3)
    ends = of["terminated"], of["truncated"]
    known = {name: given[name] for name in ("reward", "value", "terminated", "truncated")}
    same = 0.0 * of["reward"]
    later = ot.where(t == t.size - 1, of["value"], of["value"].at(t=t + 1))
    target, _ = rl.v_trace(of["reward"], of["value"], later, *ends, t, same, discount=DISCOUNT)
    returns = rl.lambda_return(of["reward"], later, *ends, t, discount=DISCOUNT, trace=1.0)
    out = ot.Program(target=target, returns=returns).interpret(**known)
    np.testing.assert_allclose(out["target"], out["returns"], rtol=1e-9)


def test_rates_may_differ_along_a_dimension() -> None:
    k, t = ot.dims("k t")
    reward, no = ot.input("reward", over=t), ot.constant(False)
    discount = ot.input("discount", over=k)
    y = rl.lambda_return(reward, 0.0 * reward, no, no, t, discount=discount, trace=1.0)
    out = ot.Program(y=y).interpret(reward=[1.0, 2.0], discount=[0.0, 0.5, 1.0])["y"]
    assert out.tolist() == [[1.0, 2.0], [2.0, 2.0], [3.0, 2.0]]
