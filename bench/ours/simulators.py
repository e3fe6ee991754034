"""Simulators alone, with random actions and automatic resets."""

from __future__ import annotations

from collections.abc import Callable

import ostinato as ot
from bench.harness.timing import rates
from bench.ours import pendulum
from ostinato import rl
from ostinato.language.record import Record


def cartpole_program() -> ot.Program:
    """Return the sum of the rewards and the number of ends of ``T`` steps of ``B`` games."""
    env = rl.CartPole()
    b, t = ot.dims("b t")
    state = ot.recurrent("state", like=env.state, over=(b, t))
    action = ot.random.integers(0, 2, over=(b, t))
    following, reward, terminated, cut = env.step(state, action)
    done = terminated | cut
    state[b, 0] = env.reset(over=b)
    state[b, t + 1] = ot.where(done, env.reset(over=(b, t)), following)
    return ot.Program(reward=reward[:, :].sum(), ends=done[:, :].sum())


def pendulum_program() -> ot.Program:
    """Return the sum of the rewards and the number of ends of ``T`` steps of ``B`` games."""
    b, t = ot.dims("b t")
    zero = ot.zeros(())
    like = Record(angle=zero, speed=zero, steps=ot.zeros((), "int32"))
    state = ot.recurrent("state", like=like, over=(b, t))
    torque = ot.random.uniform((), -pendulum.MAX_TORQUE, pendulum.MAX_TORQUE, over=(b, t))
    following, reward, done = pendulum.step(state, torque)
    state[b, 0] = pendulum.reset(over=b)
    state[b, t + 1] = ot.where(done, pendulum.reset(over=(b, t)), following)
    return ot.Program(reward=reward[:, :].sum(), ends=done[:, :].sum())


def cartpole(envs: int, steps: int) -> Callable[[], float]:
    return speed(cartpole_program(), envs, steps)


def pendulums(envs: int, steps: int) -> Callable[[], float]:
    return speed(pendulum_program(), envs, steps)


def speed(program: ot.Program, envs: int, steps: int) -> Callable[[], float]:
    compiled = program.compile()

    def run(iterations: int) -> None:
        for seed in range(iterations):
            compiled(B=envs, T=steps, seed=seed)

    return rates(run, envs * steps)
