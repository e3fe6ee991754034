"""Running means and variances, by which observations and rewards get a common size."""

from __future__ import annotations

from ostinato.language.carry import carry
from ostinato.language.dims import Dimension
from ostinato.language.functions.basic import clip, ones, where, zeros
from ostinato.language.functions.elementary import rsqrt
from ostinato.language.kinds import Finite, Limit
from ostinato.language.recurrent import Over
from ostinato.language.tensor import Tensor, as_tensor
from ostinato.nn.module import Module
from ostinato.rl.agent import Actor
from ostinato.rl.distributions.distribution import Distribution
from ostinato.rl.rollout import Rollout, across, trainings

EPS = 1e-8


class Moments(Module):
    """The mean and the variance of all rows of all iterations so far, along every column.

    At iteration ``i`` they are those of the iterations before, and 0 and 1 at the first; `learn`
    says which rows an iteration adds. A call gives ``(x - mean) / std``, clipped to ``limit``.

    Shapes: x (..., n) -> (..., n).
    Source: Chan et al. 1979, Updating formulae and a pairwise algorithm for computing sample
    variances.

    >>> import ostinato as ot
    >>> from ostinato import rl
    >>> b, i = ot.dims("b i")
    >>> x = ot.input("x", shape=(1,), over=(b, i))
    >>> moments = rl.Moments(1, i)
    >>> moments.learn(x, b)
    >>> found = ot.Program(mean=moments.mean).interpret(x=[[[1.0], [5.0]], [[3.0], [7.0]]])
    >>> found["mean"].ravel().tolist()
    [0.0, 2.0]
    """

    def __init__(
        self, size: int, i: Dimension, *, each: Over = (), limit: Limit = 10.0, name: str = "seen"
    ) -> None:
        self._limit = limit
        self.mean = carry(f"{name}_mean", zeros(size), over=i, each=each)
        self.variance = carry(f"{name}_variance", ones(size), over=i, each=each)
        self.count = carry(f"{name}_count", 0.0, over=i, each=each)

    def learn(self, x: Tensor, *dims: Dimension) -> None:
        """Say which rows an iteration adds: those at all points of some dimensions."""
        rows = across(x, *dims).cast("float32")
        axes = tuple(range(len(dims)))
        mean, variance = rows.mean(axes), rows.var(axes)
        count = as_tensor(1.0)
        for dim in dims:
            count = count * dim.size
        total = self.count + count
        apart = mean - self.mean
        spread = self.variance * self.count + variance * count
        spread = spread + apart * apart * (self.count * count / total)
        self.mean.step(self.mean + apart * (count / total))
        self.variance.step(spread / total)
        self.count.step(total)

    def __call__(self, x: Tensor) -> Tensor:
        scaled = (x - self.mean) * rsqrt(self.variance + EPS)
        return clip(scaled, -self._limit, self._limit)


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
