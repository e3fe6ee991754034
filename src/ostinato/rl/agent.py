"""What acts and what judges: networks over observations, and a training with its policy."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from ostinato.compiler.experiment import Experiment
from ostinato.compiler.program import Program
from ostinato.language.dims import Dimension
from ostinato.language.functions.basic import concatenate, tanh, zeros
from ostinato.language.kinds import Count
from ostinato.language.record import Record
from ostinato.language.recurrent import Over
from ostinato.language.tensor import Tensor
from ostinato.nn import init
from ostinato.nn.cells import GRUCell, LSTMCell
from ostinato.nn.layers import MLP
from ostinato.nn.module import Module, parameter
from ostinato.pdg.errors import ArgumentError
from ostinato.provenance.place import place
from ostinato.rl.distributions.continuous import Normal, SquashedNormal
from ostinato.rl.distributions.discrete import Categorical, MultiDiscrete, only_legal
from ostinato.rl.distributions.distribution import Distribution
from ostinato.rl.environments.environment import (
    Actions,
    Box,
    Discrete,
    Discretes,
    Env,
    LimitsActions,
)
from ostinato.rl.rollout import Rollout, finished, observed

LOWEST, HIGHEST = -5.0, 2.0  # the logarithm of a deviation that is learnt where it is needed


class Actor(Module):
    """A network from what an agent sees to a distribution over its actions.

    It is `Categorical` over numbered actions, `MultiDiscrete` over several numbers at once, and
    `Normal` over real ones, with a standard deviation that is learnt and the same everywhere, 1 at
    first. It begins near uniform, or with means near 0. It reads ``inputs`` numbers (default: as
    many as an observation has). Where the environment has ``legal`` actions it takes no others.

    Errors: ArgumentError for legal actions and other ``inputs``, which do not show them.

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
        inputs: Count | None = None,
        activation: str = "tanh",
        name: str = "actor",
    ) -> None:
        actions = env.actions
        self._legal = env.legal if isinstance(env, LimitsActions) else None
        if self._legal is not None and inputs is not None:
            fact = "an actor of legal actions that does not see what the environment shows"
            raise ArgumentError(fact, "Let it read observations: leave out `inputs`.", place())
        self.log_std: Tensor | None = None
        self._sizes = actions.sizes if isinstance(actions, Discretes) else None
        if isinstance(actions, Discrete):
            outputs = actions.count
        elif isinstance(actions, Discretes):
            outputs = sum(actions.sizes)
        else:
            outputs = actions.size
            self.log_std = parameter(f"{name}_log_std", (outputs,), init.zeros, over)
        self.body = MLP(
            observed(env) if inputs is None else inputs,
            hidden,
            outputs,
            over,
            activation=activation,
            output_scale=0.01,
            name=name,
        )

    def __call__(self, observation: Tensor) -> Distribution:
        found = self.body(observation)
        if self.log_std is not None:
            return Normal(found, self.log_std)
        if self._sizes is not None:
            return MultiDiscrete(found, self._sizes)
        legal = self._legal
        return Categorical(found if legal is None else only_legal(found, legal(observation)))


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
        inputs: Count | None = None,
        activation: str = "tanh",
        name: str = "critic",
    ) -> None:
        size = observed(env) if inputs is None else inputs
        self.body = MLP(size, hidden, 1, over, activation=activation, name=name)

    def __call__(self, observation: Tensor) -> Tensor:
        return self.body(observation)[..., 0]


class ActionValues(Module):
    """A network from what an agent sees to what each of its numbered actions is worth.

    A ``dueling`` one adds the value of the observation to what each action is worth above the mean
    of all.

    Shapes: observation (..., n) -> (..., number of actions).
    Source: Wang et al. 2016, Dueling network architectures, equation 9.

    >>> import ostinato as ot
    >>> from ostinato import rl
    >>> i, t = ot.dims("i t")
    >>> values = rl.ActionValues(rl.CartPole(), [64, 64], over=i)
    >>> values(ot.input("seen", shape=(4,), over=t))
    <float32[2] over (i, t)>
    """

    def __init__(
        self,
        env: Env[Discrete],
        hidden: Sequence[Count],
        over: Over = (),
        *,
        dueling: bool = False,
        activation: str = "relu",
        name: str = "action_values",
    ) -> None:
        count = env.actions.count
        outputs = count + 1 if dueling else count
        self.body = MLP(observed(env), hidden, outputs, over, activation=activation, name=name)
        self._dueling = dueling

    def __call__(self, observation: Tensor) -> Tensor:
        found = self.body(observation)
        if not self._dueling:
            return found
        above = found[..., 1:]
        return found[..., :1] + above - above.mean(-1, keepdims=True)


class Greedy(Module):
    """The policy that takes the action of the highest value, the first of equals.

    >>> import ostinato as ot
    >>> from ostinato import rl
    >>> i, t = ot.dims("i t")
    >>> policy = rl.Greedy(rl.ActionValues(rl.CartPole(), [64, 64], over=i))
    >>> policy(ot.input("seen", shape=(4,), over=t))
    <int32[] over (i, t)>
    """

    def __init__(self, values: Callable[[Tensor], Tensor]) -> None:
        self.values = values

    def __call__(self, observation: Tensor) -> Tensor:
        return self.values(observation).argmax(-1)


class ActionCritic(Module):
    """A network from what an agent sees, and a real action, to what that action is worth.

    Shapes: observation (..., n), action (..., m) -> (...).

    >>> import ostinato as ot
    >>> from ostinato import rl
    >>> i, t = ot.dims("i t")
    >>> critic = rl.ActionCritic(rl.Pendulum(), [64, 64], over=i)
    >>> critic(ot.input("seen", shape=(3,), over=t), ot.input("torque", shape=(1,), over=t))
    <float32[] over (i, t)>
    """

    def __init__(
        self,
        env: Env[Box],
        hidden: Sequence[Count],
        over: Over = (),
        *,
        activation: str = "relu",
        name: str = "action_critic",
    ) -> None:
        inputs = observed(env) + env.actions.size
        self.body = MLP(inputs, hidden, 1, over, activation=activation, name=name)

    def __call__(self, observation: Tensor, action: Tensor) -> Tensor:
        return self.body(concatenate([observation, action], -1))[..., 0]


class SquashedActor(Module):
    """A network from what an agent sees to a squashed normal distribution inside of its bounds.

    The logarithm of the deviation before squashing lies between -5 and 2.

    Shapes: observation (..., n) -> a distribution over (..., m).
    Source: Haarnoja et al. 2018, Soft actor-critic.

    >>> import ostinato as ot
    >>> from ostinato import rl
    >>> i, t = ot.dims("i t")
    >>> actor = rl.SquashedActor(rl.Pendulum(), [64, 64], over=i)
    >>> actor(ot.input("seen", shape=(3,), over=t)).rsample()
    <action: float32[1] over (i, t)>
    """

    def __init__(
        self,
        env: Env[Box],
        hidden: Sequence[Count],
        over: Over = (),
        *,
        activation: str = "relu",
        name: str = "actor",
    ) -> None:
        self._actions = env.actions
        outputs = 2 * env.actions.size
        self.body = MLP(
            observed(env),
            hidden,
            outputs,
            over,
            activation=activation,
            output_scale=0.1,
            name=name,
        )

    def __call__(self, observation: Tensor) -> SquashedNormal:
        actions, found = self._actions, self.body(observation)
        mean, spread = found[..., : actions.size], found[..., actions.size :]
        log_std = LOWEST + 0.5 * (HIGHEST - LOWEST) * (tanh(spread) + 1.0)
        return SquashedNormal(mean, log_std, actions.low, actions.high)


class DeterministicActor(Module):
    """A network from what an agent sees to one action inside of its bounds.

    Shapes: observation (..., n) -> (..., m).

    >>> import ostinato as ot
    >>> from ostinato import rl
    >>> i, t = ot.dims("i t")
    >>> actor = rl.DeterministicActor(rl.Pendulum(), [64, 64], over=i)
    >>> actor(ot.input("seen", shape=(3,), over=t))
    <float32[1] over (i, t)>
    """

    def __init__(
        self,
        env: Env[Box],
        hidden: Sequence[Count],
        over: Over = (),
        *,
        activation: str = "relu",
        name: str = "actor",
    ) -> None:
        self._actions = env.actions
        self.body = MLP(
            observed(env),
            hidden,
            env.actions.size,
            over,
            activation=activation,
            output_scale=0.1,
            name=name,
        )

    def __call__(self, observation: Tensor) -> Tensor:
        low, high = self._actions.low, self._actions.high
        return low + 0.5 * (high - low) * (tanh(self.body(observation)) + 1.0)


class Remembering(Module):
    """An agent with a memory: a cell that reads what it sees, and heads that read the memory.

    ``remember(observation, memory)`` is the memory after a step, which is ``nothing`` before the
    first one of an episode; ``policy(memory)`` is a distribution over actions, and
    ``value(memory)`` what the rest of the episode is worth.

    Shapes: observation (..., n); memory: a record of (..., memory).

    >>> import ostinato as ot
    >>> from ostinato import rl
    >>> i, t = ot.dims("i t")
    >>> env = rl.make("MaskedCartPole")
    >>> agent = rl.Remembering(env, 16, [32], over=i)
    >>> memory = agent.remember(ot.input("seen", shape=(2,), over=t), agent.nothing)
    >>> agent.policy(memory).sample()
    <action: int32[] over (i, t)>
    """

    def __init__(
        self,
        env: Env[Actions],
        memory: Count,
        hidden: Sequence[Count],
        over: Over = (),
        *,
        lstm: bool = False,
    ) -> None:
        make = LSTMCell if lstm else GRUCell
        self.cell: GRUCell | LSTMCell = make(observed(env), memory, over)
        self.actor = Actor(env, hidden, over, inputs=memory)
        self.critic = Critic(env, hidden, over, inputs=memory)

    @property
    def nothing(self) -> Record:
        """The memory before the first step of an episode: zeros."""
        zero = zeros(self.cell.hidden)
        return (
            Record(hidden=zero)
            if isinstance(self.cell, GRUCell)
            else Record(hidden=zero, cell=zero)
        )

    def remember(self, observation: Tensor, memory: Record) -> Record:
        """Return the memory after a step."""
        if isinstance(self.cell, LSTMCell):
            return self.cell(observation, memory)
        return Record(hidden=self.cell(observation, memory.hidden))

    def policy(self, memory: Record) -> Distribution:
        """Return a distribution over actions."""
        return self.actor(memory.hidden)

    def value(self, memory: Record) -> Tensor:
        """Return what the rest of the episode is worth."""
        return self.critic(memory.hidden)


@dataclass(frozen=True, slots=True, kw_only=True)
class Training(Experiment):
    """An experiment with the policy that it trains.

    ``policy(observation)`` is a distribution over actions, or, for a deterministic policy, an
    action. Its parameters are those of the training: ``policy.final`` has what the last update
    left, ``policy.map(...)`` puts others in their place, such as inputs. ``networks`` are all that
    learn or follow, by name, and ``tensors`` what else a program of one's own may ask for.

    >>> import ostinato as ot
    >>> from ostinato import rl
    >>> training = rl.ppo(rl.CartPole(), hidden=[8])
    >>> sorted(training.networks), training.tensors["advantage"]
    (['actor', 'critic'], <advantage: float32[] over (b, i, t)>)
    """

    policy: Module
    networks: Mapping[str, Module] = field(default_factory=dict[str, Module])
    tensors: Mapping[str, Tensor] = field(default_factory=dict[str, Tensor])


def trained(
    played: Rollout,
    policy: Module,
    told: Mapping[str, Tensor],
    *,
    each: Sequence[Dimension] = (),
    networks: Mapping[str, Module],
    tensors: Mapping[str, Tensor],
    **extents: int,
) -> Training:
    """Return the training whose games were played, and what it tells of every iteration."""
    _, i, _ = played.dims
    program = Program(**finished(played, each=each, **told))
    return Training(
        program=program,
        over=i,
        arguments=extents,
        steps_per_record=extents["B"] * extents["T"],
        policy=policy,
        networks=networks,
        tensors={**played.tensors, **tensors},
    )
