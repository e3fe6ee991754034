"""Two networks, generalised advantages, episodes that start again: equal to the interpreter."""

from functools import cache

import numpy as np
import pytest

import ostinato as ot
from ostinato import nn, optim, rl
from ostinato.compiler.compiled import Compiled

SIZES = [{"B": 35, "T": 13, "I": 2}, {"B": 3, "T": 6, "I": 2}, {"B": 1, "T": 2, "I": 2}]


@cache
def program() -> ot.Program:
    """Return an actor-critic with generalised advantage estimation.

    Source: Schulman et al. 2016, High-dimensional continuous control, equation 16.
    """
    env = rl.CartPole()
    b, i, t = ot.dims("b i t")
    policy = nn.MLP(4, [8, 8], env.actions.count, over=i, name="policy")
    critic = nn.MLP(4, [8], 1, over=i, name="critic")
    state = ot.recurrent("state", like=env.state, over=(b, i, t))
    action = rl.Categorical(policy(env.observe(state))).sample()
    following, reward, terminated, truncated = env.step(state, action)
    done = terminated | truncated
    state[b, i, 0] = env.reset(over=(b, i))
    state[b, i, t + 1] = ot.where(done, env.reset(over=(b, i, t)), following)

    goes_on = ot.where(done, 0.0, 1.0)
    value = critic(env.observe(state))[..., 0]
    surprise = reward + 0.99 * goes_on * critic(env.observe(following))[..., 0] - value
    advantage = ot.recurrent("advantage", over=(b, i, t))
    advantage[b, i, -1] = surprise[b, i, -1]
    advantage[b, i, t] = surprise + 0.94 * goes_on * advantage[b, i, t + 1]

    target = ot.stop_gradient(advantage + value)
    gain = (rl.log_prob(action) * ot.stop_gradient(advantage))[:, i, :].mean()
    error = ((value - target) ** 2)[:, i, :].mean()
    policy.update(optim.Adam(1e-2), -gain)
    critic.update(optim.Adam(1e-2), error)
    return ot.Program(gain=gain, error=error, value=value)


@cache
def compiled() -> Compiled:
    return program().compile(threads=2)


@pytest.mark.parametrize("sizes", SIZES, ids=str)
def test_machine_code_equals_the_interpreter(sizes: dict[str, int]) -> None:
    expected, found = program().interpret(seed=4, **sizes), compiled()(seed=4, **sizes)
    for name, value in expected.items():
        np.testing.assert_allclose(found[name], value, rtol=2e-3, atol=1e-4, err_msg=name)
