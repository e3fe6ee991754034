"""A policy as a function of Python: from one observation to one action."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from ostinato.compiler.program import Program
from ostinato.language.dims import dims
from ostinato.language.kinds import Natural
from ostinato.language.record import Record
from ostinato.language.recurrent import input
from ostinato.language.shown import shown
from ostinato.nn.module import Module
from ostinato.pdg.errors import ArgumentError
from ostinato.pdg.functions import Array
from ostinato.provenance.place import place
from ostinato.rl.acting import chosen, remembered
from ostinato.rl.environments.environment import Actions, Env
from ostinato.rl.rollout import allowed, observed


class Player:
    """A compiled policy that is called from Python with what it sees, one observation at a time.

    The action is the best one of its distribution, or if not ``greedy`` one that is drawn. A policy
    with a memory has it until `forget`, which an episode begins with. The weights are those of
    `Module.state_dict`, of one training.

    Shapes: an observation as the environment shows it -> an action: a number, or a vector.
    Errors: ArgumentError for weights that do not fit, and for policies of several trainings.

    >>> import numpy as np
    >>> from ostinato import rl
    >>> env = rl.CartPole()
    >>> training = rl.a2c(env, iterations=5)
    >>> play = rl.Player(env, training.policy, rl.learnt(training))
    >>> play(np.zeros(4, np.float32)) in (0, 1)
    True
    """

    def __init__(
        self,
        env: Env[Actions],
        policy: Module,
        weights: Mapping[str, object],
        *,
        greedy: bool = True,
        seed: Natural = 0,
    ) -> None:
        acting, self._shape = _one(policy), (observed(env),)
        nothing = remembered(policy)
        memory = {n: input(f"memory_{n}", x.shape, x.dtype) for n, x in nothing.fields.items()}
        found, after = chosen(acting, input("seen", self._shape), Record(**memory), greedy=greedy)
        kept = {f"after_{name}": x for name, x in after.fields.items()}
        program = Program(action=allowed(env, found), **kept)
        known = policy.arguments(weights)
        self._arguments = {name: known[name] for name in program.inputs if name in known}
        self._run = program.compile()
        self._nothing: Mapping[str, Array] = {}
        if memory:
            self._nothing = Program(**nothing.fields).interpret()
        self._memory: dict[str, Array] = {}
        self._seed, self._draws = seed, not greedy
        self.forget()

    def forget(self) -> None:
        """Begin an episode: the memory is as before its first step."""
        self._memory = {f"memory_{name}": array for name, array in self._nothing.items()}

    def __call__(self, observation: object) -> Array:
        """Return the action for what is seen."""
        try:
            seen = np.asarray(observation, np.float32).reshape(self._shape)
        except (TypeError, ValueError, OverflowError):
            fact, size = f"an agent sees {shown(observation)}", self._shape[0]
            raise ArgumentError(fact, f"Give it an array of {size} numbers.", place()) from None
        self._seed += self._draws
        found = self._run(seen=seen, seed=self._seed, **self._arguments, **self._memory)
        self._memory = {name: found[f"after_{name[7:]}"] for name in self._memory}
        return found["action"]


def _one(policy: Module) -> Module:
    """A policy with its weights as inputs.

    Errors: ArgumentError for those of several trainings.
    """
    acting = policy.as_inputs()
    over = {str(dim) for weight in acting.named_weights() for dim in weight.tensor.over}
    if over:
        fact = f"a policy of each of several trainings, along {', '.join(sorted(over))}"
        raise ArgumentError(
            fact, "Give the policy and the weights of one: leave out over=.", place()
        )
    return acting


def export_onnx(
    path: str | Path, env: Env[Actions], policy: Module, weights: Mapping[str, object]
) -> None:
    """Write the best actions of a policy as a model of ONNX, with its weights.

    Its inputs are `observation`, rows of what the environment shows, and of a policy with a memory
    also that: `memory_NAME`, zeros before an episode. The outputs are `action` and the memory
    after it, `after_NAME`.

    Errors: OptionError without the package onnx; ArgumentError for weights that do not fit, and for
    a policy with an operator that ONNX does not have.
    """
    row = dims("row")
    acting, nothing = _one(policy), remembered(policy)
    memory = {n: input(f"memory_{n}", x.shape, x.dtype, row) for n, x in nothing.fields.items()}
    seen = input("observation", env.observation_shape, over=row).reshape((observed(env),))
    found, after = chosen(acting, seen, Record(**memory), greedy=True)
    program = Program(
        action=allowed(env, found), **{f"after_{name}": x for name, x in after.fields.items()}
    )
    known = policy.arguments(weights)
    program.to_onnx(path, {name: known[name] for name in program.inputs if name in known})
