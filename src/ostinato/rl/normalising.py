"""Policies of scaled observations, and rewards in units of the deviation of returns."""

from __future__ import annotations

from ostinato.language.carry import carry
from ostinato.language.functions.basic import clip, where
from ostinato.language.functions.elementary import rsqrt
from ostinato.language.kinds import Finite, Limit
from ostinato.language.record import Record
from ostinato.language.recurrent import Over
from ostinato.language.tensor import Tensor
from ostinato.nn.module import Module
from ostinato.rl.agent import Actor, Remembering
from ostinato.rl.distributions.distribution import Distribution
from ostinato.rl.moments import EPS, Moments
from ostinato.rl.rollout import Rollout, trainings


class Normalised(Module):
    """A network that sees what an agent sees less its mean, in units of its deviation.

    Only the parameters of the network are learnt by gradients: ``normalised.network.parameters``.

    >>> import ostinato as ot
    >>> from ostinato import rl
    >>> i, t = ot.dims("i t")
    >>> env, updates = rl.CartPole(), ot.carried(i)
    >>> policy = rl.Normalised(rl.Actor(env, [8], updates), rl.Moments(4, i))
    >>> policy(ot.input("seen", shape=(4,), over=t)).sample()
    <action: int32[] over (i, t)>
    """

    def __init__(self, network: Actor, moments: Moments) -> None:
        self.network = network
        self.moments = moments

    def __call__(self, observation: Tensor) -> Distribution:
        return self.network(self.moments(observation))


class NormalisedRemembering(Module):
    """An agent with a memory that sees what `Normalised` networks see.

    >>> import ostinato as ot
    >>> from ostinato import rl
    >>> i, t = ot.dims("i t")
    >>> env, updates = rl.make("MaskedCartPole"), ot.carried(i)
    >>> agent = rl.Remembering(env, 16, [8], updates)
    >>> policy = rl.NormalisedRemembering(agent, rl.Moments(2, i))
    >>> memory = policy.remember(ot.input("seen", shape=(2,), over=t), policy.nothing)
    >>> policy.policy(memory).sample()
    <action: int32[] over (i, t)>
    """

    def __init__(self, network: Remembering, moments: Moments) -> None:
        self.network = network
        self.moments = moments

    @property
    def nothing(self) -> Record:
        """The memory before the first step of an episode."""
        return self.network.nothing

    def remember(self, observation: Tensor, memory: Record) -> Record:
        """Return the memory after a step."""
        return self.network.remember(self.moments(observation), memory)

    def policy(self, memory: Record) -> Distribution:
        """Return a distribution over actions."""
        return self.network.policy(memory)


def scaled_reward(
    games: Rollout, discount: Tensor | Finite, *, each: Over = (), limit: Limit = 10.0
) -> Tensor:
    """Return rewards in units of the deviation of the returns so far, clipped to ``limit``.

    The return of a step is the discounted sum of the rewards of its episode up to it, and the
    deviation that of all steps up to the end of the iteration.

    Source: Engstrom et al. 2020, Implementation matters in deep policy gradients, section 3.

    >>> import ostinato as ot
    >>> from ostinato import rl
    >>> b, i, t = ot.dims("b i t")
    >>> games = rl.rollout(rl.Pendulum(), lambda seen: ot.zeros(1), (b, i, t))
    >>> reward = rl.scaled_reward(games, 0.99)
    >>> found = ot.Program(all=reward).compile()(B=4, I=3, T=20)["all"]
    >>> bool(abs(found).max() < 10.0)
    True
    """
    b, i, t = games.dims
    outer = trainings(each)
    before = carry("discounted", 0.0, over=(i, t), each=(*outer, b))
    so_far = discount * before + games.reward
    before.step(where(games.done, 0.0, so_far))
    moments = Moments(1, i, each=outer, name="discounted")
    moments.learn(so_far[..., None], b, t)
    scale = rsqrt(moments.variance.after[..., 0] + EPS)
    return clip(games.reward * scale, -limit, limit)
