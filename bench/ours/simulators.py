"""Simulators alone, with random actions and automatic resets."""

from __future__ import annotations

from collections.abc import Callable

import ostinato as ot
from bench.harness.timing import rates
from ostinato import rl

Act = Callable[[tuple[ot.Dimension, ot.Dimension]], ot.Tensor]  # over games and steps


def simulator(env: rl.Env[rl.Actions], action: Act) -> ot.Program:
    """Return the sum of the rewards and the number of ends of ``T`` steps of ``B`` games."""
    b, t = ot.dims("b t")
    state = ot.recurrent("state", like=env.state, over=(b, t))
    following, reward, terminated, cut = env.step(state, action((b, t)))
    done = terminated | cut
    state[b, 0] = env.reset(over=b)
    state[b, t + 1] = ot.where(done, env.reset(over=(b, t)), following)
    return ot.Program(reward=reward[:, :].sum(), ends=done[:, :].sum())


def cartpole_program() -> ot.Program:
    return simulator(rl.CartPole(), lambda over: ot.random.integers(0, 2, over=over))


def pendulum_program() -> ot.Program:
    env = rl.Pendulum()
    low, high = env.actions.low, env.actions.high
    return simulator(env, lambda over: ot.random.uniform((1,), low, high, over=over))


def cartpole(envs: int, steps: int, target: str = "cpu") -> Callable[[], float]:
    return speed(cartpole_program(), envs, steps, target)


def pendulums(envs: int, steps: int) -> Callable[[], float]:
    return speed(pendulum_program(), envs, steps)


def speed(program: ot.Program, envs: int, steps: int, target: str = "cpu") -> Callable[[], float]:
    compiled = program.compile(target=target)

    def run(iterations: int) -> None:
        for seed in range(iterations):
            compiled(B=envs, T=steps, seed=seed)

    return rates(run, envs * steps)
