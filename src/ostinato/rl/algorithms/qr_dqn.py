"""Quantile regression DQN: how the returns of actions are spread, not only their means."""

from __future__ import annotations

from collections.abc import Sequence

import ostinato as ot
from ostinato import nn, optim, rl
from ostinato.language.kinds import Count, Limit, Natural, NonNegative, Probability
from ostinato.language.recurrent import Over
from ostinato.rl.environments.environment import acts_by


class Quantiles(nn.Module):
    """A network from what an agent sees to quantiles of the return of each action.

    Shapes: observation (..., n) -> (..., actions, quantiles).
    """

    def __init__(
        self, env: rl.Env[rl.Discrete], quantiles: int, hidden: Sequence[int], over: Over
    ) -> None:
        self._shape = (env.actions.count, quantiles)
        outputs = env.actions.count * quantiles
        self.body = nn.MLP(rl.observed(env), hidden, outputs, over, activation="relu")

    def __call__(self, observation: ot.Tensor) -> ot.Tensor:
        found = self.body(observation)
        return found.reshape((*found.shape[:-1], *self._shape))


class Means(nn.Module):
    """What actions are worth: the means of their quantiles."""

    def __init__(self, quantiles: Quantiles) -> None:
        self.quantiles = quantiles

    def __call__(self, observation: ot.Tensor) -> ot.Tensor:
        return self.quantiles(observation).mean(-1)


def qr_dqn(
    env: rl.Env[rl.Discrete], *, games: Count = 1, steps: Count = 8, iterations: Count = 12500,
    updates: Count = 1, batch: Count = 128, window: Count = 1250, start: Natural = 125,
    quantiles: Count = 16, hidden: Sequence[Count] = (64, 64),
    learning_rate: ot.Tensor | NonNegative = 5e-4, discount: ot.Tensor | Probability = 0.99,
    decay: ot.Tensor | Probability = 0.99, exploration: ot.Tensor | Probability = 0.01,
    explored: ot.Tensor | Probability = 0.2, norm: ot.Tensor | Limit = 10.0, over: Over = (),
) -> rl.Training:  # fmt: skip
    """Q-learning of ``quantiles`` of the return; the rest is as in `dqn`.

    Source: Dabney et al. 2018, Distributional reinforcement learning with quantile regression.

    >>> from ostinato import rl
    >>> training = rl.qr_dqn(rl.CartPole(), iterations=100)
    >>> training.train(seed=1)["episode_return"].shape
    (100,)
    """
    acts_by(env, rl.Discrete, "qr_dqn")
    b, i, t = ot.dims("b i t")
    m = ot.dim("m", size=updates)
    each = rl.trainings(over, learning_rate, discount, decay, exploration, explored, norm)
    network = Quantiles(env, quantiles, hidden, ot.carried(i, m, each=each))
    slow = network.map(lambda weight: optim.exponential_average(weight, decay))

    # What happened: the best action, or another one.
    acting, count = Means(network.at(m=0)), env.actions.count
    rate = ot.maximum(1.0 - (1.0 - exploration) * i / (explored * i.size), exploration)

    def act(seen: ot.Tensor) -> ot.Tensor:
        return rl.exploring(acting(seen).argmax(-1), count, rate, over=(*each, b, i, t))

    played = rl.rollout(env, act, (b, i, t), each=each)

    # The rows of one update, and the quantiles of what they led to.
    replay = rl.Replay((b, i, t), batch, window=window, over=(*each, i, m))
    earned, weight, following = rl.replayed_return(replay, played, 1, discount)
    chosen = Means(network)(following).argmax(-1)
    target = earned[..., None] + weight[..., None] * taken(slow(following), chosen)

    # loss = E[|q - (u < 0)| huber(u)] of u = target - quantile, for every pair of them
    found = taken(network(replay(played.observation)), replay(played.action))
    u = ot.stop_gradient(target)[..., None, :] - found[..., None]
    size = ot.abs(u)
    huber = ot.where(size <= 1.0, 0.5 * u * u, size - 0.5)
    at = ((ot.arange(quantiles) + 0.5) / quantiles)[:, None]
    loss = (ot.abs(at - (u < 0.0).cast("float32")) * huber).sum(-2).mean()
    optimizer = optim.Clipped(optim.Adam(learning_rate), norm=norm)
    optim.Masked(optimizer, ot.index(i) >= start).minimize(loss, network.parameters)

    told = {"loss": loss.at(m=-1), "exploration": rate}
    return rl.Training(
        program=ot.Program(**rl.finished(played, each=each, **told)), over=i,
        policy=rl.Greedy(Means(network)), arguments={"B": games, "I": iterations, "T": steps},
        steps_per_record=games * steps, networks={"quantiles": network, "slow": slow},
        tensors={**played.tensors, **replay.tensors, "loss": loss},
    )  # fmt: skip


def taken(quantiles: ot.Tensor, action: ot.Tensor) -> ot.Tensor:
    """Return the quantiles of the actions that were taken."""
    places = ot.broadcast_to(action[..., None, None], (*action.shape, 1, quantiles.shape[-1]))
    return ot.take_along_axis(quantiles, places, -2)[..., 0, :]
