"""What acts and what judges: networks over observations, and a training with its policy."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ostinato.compiler.experiment import Experiment
from ostinato.language.kinds import Count
from ostinato.language.recurrent import Over
from ostinato.language.tensor import Tensor
from ostinato.nn import init
from ostinato.nn.layers import MLP
from ostinato.nn.module import Module, parameter
from ostinato.rl.distributions.continuous import Normal
from ostinato.rl.distributions.discrete import Categorical
from ostinato.rl.distributions.distribution import Distribution
from ostinato.rl.environments.environment import Actions, Discrete, Env
from ostinato.rl.rollout import observed


class Actor(Module):
    """A network from what an agent sees to a distribution over its actions.

    It is `Categorical` over numbered actions, and `Normal` over real ones, with a standard
    deviation that is learnt and the same everywhere, 1 at first. It begins near uniform, or with
    means near 0.

    Shapes: observation (..., n) -> a distribution over (...).

    >>> import ostinato as ot
    >>> from ostinato import rl
    >>> i, t = ot.dims("i t")
    >>> env = rl.Pendulum()
    >>> actor = rl.Actor(env, [64, 64], over=i)
    >>> actor(ot.input("seen", shape=env.observation_shape, over=t)).sample()
    <action: float32[1] over (i, t)>
    """

    def __init__(
        self,
        env: Env[Actions],
        hidden: Sequence[Count],
        over: Over = (),
        *,
        activation: str = "tanh",
        name: str = "actor",
    ) -> None:
        actions = env.actions
        self.log_std: Tensor | None = None
        if isinstance(actions, Discrete):
            outputs = actions.count
        else:
            outputs = actions.size
            self.log_std = parameter(f"{name}_log_std", (outputs,), init.zeros, over)
        self.body = MLP(
            observed(env),
            hidden,
            outputs,
            over,
            activation=activation,
            output_scale=0.01,
            name=name,
        )

    def __call__(self, observation: Tensor) -> Distribution:
        found = self.body(observation)
        return Categorical(found) if self.log_std is None else Normal(found, self.log_std)


class Critic(Module):
    """A network from what an agent sees to what the rest of the episode is worth.

    Shapes: observation (..., n) -> (...).

    >>> import ostinato as ot
    >>> from ostinato import rl
    >>> i, t = ot.dims("i t")
    >>> critic = rl.Critic(rl.CartPole(), [64, 64], over=i)
    >>> critic(ot.input("seen", shape=(4,), over=t))
    <float32[] over (i, t)>
    """

    def __init__(
        self,
        env: Env[Actions],
        hidden: Sequence[Count],
        over: Over = (),
        *,
        activation: str = "tanh",
        name: str = "critic",
    ) -> None:
        self.body = MLP(observed(env), hidden, 1, over, activation=activation, name=name)

    def __call__(self, observation: Tensor) -> Tensor:
        return self.body(observation)[..., 0]


@dataclass(frozen=True, slots=True, kw_only=True)
class Training(Experiment):
    """An experiment with the policy that it trains.

    ``policy(observation)`` is a distribution over actions, or, for a deterministic policy, an
    action. Its parameters are those of the training: ``policy.final`` has what the last update
    left, ``policy.map(...)`` puts others in their place, such as inputs.
    """

    policy: Module
