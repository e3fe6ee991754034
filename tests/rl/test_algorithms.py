"""Every algorithm: on every kind of environment that it takes, and that it learns."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, get_type_hints

import numpy as np
import pytest

import ostinato as ot
from ostinato import rl
from ostinato.cli.train import algorithms
from ostinato.compiler.compiled import Compiled
from ostinato.pdg.errors import ArgumentError

NUMBERS, BOARD, VECTORS, SEVERAL = "FrozenLake-v1", "Catch", "Pendulum-v1", "two feet"
STILL = "constants"
OFF_POLICY: dict[str, Any] = {"batch": 3, "start": 1, "updates": 2}
# The smallest settings, and the extents with which the interpreter is quick.
TINY: dict[str, tuple[dict[str, Any], dict[str, int]]] = {
    "a2c": ({}, {"B": 2, "I": 2, "T": 4}),
    "dqn": ({**OFF_POLICY, "steps": 3, "lookahead": 3}, {"B": 2, "I": 3, "T": 3}),
    "evolution": ({"pairs": 2}, {"I": 2, "T": 12}),
    "impala": ({"lag": 1}, {"B": 2, "I": 3, "T": 4}),
    "ppo": ({"minibatches": 2}, {"B": 2, "I": 2, "T": 4, "E": 2}),
    "qr_dqn": ({**OFF_POLICY, "quantiles": 3, "steps": 3}, {"B": 2, "I": 3, "T": 3}),
    "recurrent_ppo": (
        {"games": 4, "minibatches": 2, "memory": 3}, {"B": 4, "I": 2, "T": 4, "E": 2},
    ),
    "reinforce": ({}, {"B": 2, "I": 2, "T": 12}),
    "sac": (OFF_POLICY, {"B": 2, "I": 3, "T": 3}),
    "td3": (OFF_POLICY, {"B": 2, "I": 3, "T": 3}),
}  # fmt: skip


class TwoFeet(rl.Wrapper[rl.Actions]):
    """A game of four actions, said by two numbers."""

    def __init__(self, env: rl.Env[rl.Actions]) -> None:
        super().__init__(env)
        self.actions = rl.Discretes((2, 2))

    def step(
        self, state: ot.Record, action: ot.Tensor
    ) -> tuple[ot.Record, ot.Tensor, ot.Tensor, ot.Tensor]:
        return self.env.step(state, 2 * action[..., 0] + action[..., 1])


class Still:
    """A game in which every step is alike, said by constants."""

    observation_shape = (2,)

    def __init__(self, actions: rl.Actions) -> None:
        self.actions = actions

    @property
    def state(self) -> ot.Record:
        return ot.Record(place=ot.zeros(()))

    def reset(self, over: object) -> ot.Record:
        return self.state

    def observe(self, state: ot.Record) -> ot.Tensor:
        return ot.ones((2,))

    def step(
        self, state: ot.Record, action: ot.Tensor
    ) -> tuple[ot.Record, ot.Tensor, ot.Tensor, ot.Tensor]:
        return self.state, ot.constant(1.0), ot.constant(False), ot.constant(True)


def environment(name: str, kind: object = rl.Discrete) -> rl.Env[rl.Actions]:
    if name == STILL:
        return Still(rl.Box(1, -1.0, 1.0) if kind is rl.Box else rl.Discrete(2))
    return TwoFeet(rl.make("CliffWalking-v1")) if name == SEVERAL else rl.make(name)


def kind_of(algorithm: Callable[..., rl.Training]) -> object:
    """The actions that an algorithm says it takes."""
    return get_type_hints(algorithm)["env"].__args__[0]


def takes(algorithm: Callable[..., rl.Training]) -> list[str]:
    """Environments of each kind that an algorithm says it takes."""
    kind = kind_of(algorithm)
    numbered, real = [STILL, NUMBERS, BOARD], [VECTORS]
    if kind is rl.Discrete or kind is rl.Box:
        return numbered if kind is rl.Discrete else [STILL, *real]
    return [*numbered, SEVERAL, *real]


EVERYWHERE = [(n, env) for n, algorithm in algorithms().items() for env in takes(algorithm)]


@pytest.mark.parametrize(("name", "env"), EVERYWHERE, ids=map(" on ".join, EVERYWHERE))
def test_an_algorithm_runs_on_every_kind_of_environment_that_it_takes(name: str, env: str) -> None:
    settings, extents = TINY[name]
    algorithm = algorithms()[name]
    training = algorithm(environment(env, kind_of(algorithm)), hidden=(3,), **settings)
    found = training.program.interpret(**extents)
    assert {"episode_return", "episode_length"} <= found.keys()
    assert all(x.shape == (extents["I"],) and np.isfinite(x).all() for x in found.values())


@pytest.mark.parametrize("name", algorithms())
def test_trainings_along_a_dimension_are_independent(name: str) -> None:
    settings, extents = TINY[name]
    algorithm = algorithms()[name]
    rate = ot.input("rate", over=ot.dim("choice", size=2))
    env = rl.make(takes(algorithm)[-1])
    training = algorithm(env, hidden=(3,), learning_rate=rate, **settings)
    weight = [each for each in training.policy.parameters if each.ndim == 2][-1]
    assert isinstance(weight, ot.Carry)
    outputs = {"first": weight.initial, "last": weight.final}
    found = ot.Program(**outputs).interpret(**extents, rate=[0.0, 0.1])
    assert not np.array_equal(*found["first"])
    assert np.array_equal(found["first"][0], found["last"][0])
    assert not np.array_equal(found["first"][1], found["last"][1])


# Settings, the bar, and what random play comes to: what is learnt in a second or two.
LEARNS: dict[str, tuple[str, dict[str, Any], float, float]] = {
    "a2c": ("CartPole-v1", {"iterations": 600}, 100.0, 22.0),
    "dqn": ("CartPole-v1", {"iterations": 2000}, 100.0, 22.0),
    "dqn, prioritised": ("CartPole-v1", {"iterations": 2000, "prioritised": True}, 100.0, 22.0),
    "evolution": ("CartPole-v1", {"iterations": 40}, 200.0, 22.0),
    "impala": ("CartPole-v1", {"iterations": 600}, 100.0, 22.0),
    "ppo": ("CartPole-v1", {"iterations": 60}, 150.0, 22.0),
    "qr_dqn": ("CartPole-v1", {"iterations": 2000}, 100.0, 22.0),
    "recurrent_ppo": ("MemoryChain", {"iterations": 40}, 0.8, 0.0),
    "reinforce": ("CartPole-v1", {"iterations": 40}, 150.0, 22.0),
    "sac": ("Pendulum-v1", {"iterations": 500}, -500.0, -1200.0),
    "td3": ("Pendulum-v1", {"iterations": 500}, -500.0, -1200.0),
}


@cache
def made(name: str) -> tuple[rl.Training, Compiled]:
    """A training and its program, compiled for its extents: others need no variant of it."""
    env, settings, _, _ = LEARNS[name]
    training = algorithms()[name.partition(",")[0]](rl.make(env), **settings)
    hints = {extent: n for extent, n in training.arguments.items() if extent != "I"}
    return training, training.program.compile(threads=1, hints=hints)


@pytest.mark.parametrize("name", LEARNS)
def test_an_algorithm_learns(name: str) -> None:
    (training, run), (_, _, bar, random) = made(name), LEARNS[name]
    returns = run(seed=0, **training.arguments)["episode_return"]
    last = returns[-len(returns) // 10 :].mean()
    assert last > bar > random, f"{last} after {training.steps_per_record * len(returns)} steps"


@pytest.mark.parametrize("name", LEARNS)
def test_an_algorithm_is_the_same_interpreted(name: str) -> None:
    (training, run), (_, extents) = made(name), TINY[name.partition(",")[0]]
    found = run(**extents)
    for each, x in training.program.interpret(**extents).items():
        np.testing.assert_allclose(found[each], x, rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("name", LEARNS)
def test_the_state_of_a_run_has_the_policy_that_it_left(name: str) -> None:
    """Whatever order the compiler computes updates in, and wherever it keeps them."""
    (training, run), (_, extents) = made(name), TINY[name.partition(",")[0]]
    with run.stream(training.over, every=extents["I"], **extents) as records:
        assert len(list(records)) == extents["I"]
    found, left = training.policy.state_dict(records.state), training.policy.final
    if name == "impala":  # it looks back: a state has what the last iteration began with
        left = training.policy.at(**{str(training.over): -1})
    for weight, x in ot.Program(**left.state_dict()).interpret(**extents).items():
        np.testing.assert_allclose(found[weight], x, rtol=1e-3, atol=1e-5, err_msg=weight)


REFUSED: dict[str, tuple[Callable[[], object], str]] = {
    "real actions": (
        lambda: rl.dqn(rl.Pendulum()),  # type: ignore[arg-type] # pyright: ignore[reportArgumentType]
        "`dqn` gets an environment of actions that are real vectors\n  Give one of numbered",
    ),
    "numbered actions": (
        lambda: rl.sac(rl.CartPole()),  # type: ignore[arg-type] # pyright: ignore[reportArgumentType]
        "`sac` gets an environment of numbered actions\n  Give one of actions that",
    ),
    "several numbers at once": (
        lambda: rl.dqn(TwoFeet(rl.CartPole())),  # type: ignore[arg-type] # pyright: ignore[reportArgumentType]
        "`dqn` gets an environment of actions of several numbers\n  Give one of numbered actions",
    ),
    "a lookahead over iterations": (
        lambda: rl.dqn(rl.CartPole(), steps=2, lookahead=3),
        "`dqn` looks ahead 3 steps, and an iteration has 2\n  Give steps=3, or more.",
    ),
    "games that minibatches do not divide": (
        lambda: rl.recurrent_ppo(rl.CartPole(), games=6, minibatches=4),
        "`recurrent_ppo` learns from 4 minibatches of 6 games\n  Give games that the",
    ),
    "minibatches of no steps": (
        lambda: rl.ppo(rl.CartPole(), games=1, steps=3, minibatches=4),
        "`ppo` learns from 4 minibatches of 3 steps\n  Give fewer minibatches, or more games",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_an_algorithm_cannot_do_is_refused(name: str) -> None:
    mistake, text = REFUSED[name]
    with pytest.raises(ArgumentError) as caught:
        mistake()
    assert text in str(caught.value)
