"""Quantile regression DQN: how the returns of actions are spread, not only their means."""

from __future__ import annotations

from collections.abc import Sequence

import ostinato as ot
from ostinato import nn, optim, rl
from ostinato.language.kinds import Count, Limit, Natural, NonNegative, Probability
from ostinato.language.recurrent import Over
from ostinato.rl.agent import trained
from ostinato.rl.algorithms.dqn import can_learn, explored_games, learner


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
    learning_rate: ot.Tensor | NonNegative = 1e-3, anneal: bool = False,
    discount: ot.Tensor | Probability = 0.99, decay: ot.Tensor | Probability = 0.99,
    exploration: ot.Tensor | Probability = 0.01, explored: ot.Tensor | Probability = 0.2,
    lookahead: Count = 3, norm: ot.Tensor | Limit = 1.0, over: Over = (),
) -> rl.Training:  # fmt: skip
    """Q-learning of ``quantiles`` of the return; the rest is as in `dqn`, with its errors.

    Source: Dabney et al. 2018, Distributional reinforcement learning with quantile regression.

    >>> from ostinato import rl
    >>> training = rl.qr_dqn(rl.CartPole(), iterations=100)
    >>> training.train(seed=1)["episode_return"].shape
    (100,)
    """
    can_learn(env, lookahead, steps, "qr_dqn")
    (b, i, t), m = ot.dims("b i t"), ot.dim("m", size=updates)
    each = rl.trainings(over, learning_rate, discount, decay, exploration, explored, norm)
    network = Quantiles(env, quantiles, hidden, ot.carried(i, m, each=each))
    slow = network.map(lambda weight: optim.exponential_average(weight, decay))
    acting = Means(network.at(m=0))
    played, rate = explored_games(env, acting, (b, i, t), each, exploration, explored)

    # The rows of one update, and the quantiles of what they led to.
    replay = rl.Replay((b, i, t), batch, window=window, over=(*each, i, m), ahead=lookahead)
    earned, weight, following = rl.replayed_return(replay, played, lookahead, discount)
    chosen = Means(network)(following).argmax(-1)
    target = earned[..., None] + weight[..., None] * taken(slow(following), chosen)

    found = taken(network(replay(played.observation)), replay(played.action))
    loss = quantile_loss(ot.stop_gradient(target), found, quantiles)
    learner(learning_rate, anneal, i, start, norm).minimize(loss, network.parameters)
    return trained(
        played, rl.Greedy(Means(network)), {"loss": loss.at(m=-1), "exploration": rate}, each=each,
        networks={"quantiles": network, "slow": slow}, tensors={**replay.tensors, "loss": loss},
        B=games, I=iterations, T=steps,
    )  # fmt: skip


def quantile_loss(target: ot.Tensor, found: ot.Tensor, quantiles: int) -> ot.Tensor:
    """Return E[|q - (u < 0)| huber(u)] of u = target - quantile, for every pair of them."""
    u = target[..., None, :] - found[..., None]
    size = ot.abs(u)
    huber = ot.where(size <= 1.0, 0.5 * u * u, size - 0.5)
    at = ((ot.arange(quantiles) + 0.5) / quantiles)[:, None]
    return (ot.abs(at - (u < 0.0).cast("float32")) * huber).sum(-2).mean()


def taken(quantiles: ot.Tensor, action: ot.Tensor) -> ot.Tensor:
    """Return the quantiles of the actions that were taken."""
    places = ot.broadcast_to(action[..., None, None], (*action.shape, 1, quantiles.shape[-1]))
    return ot.take_along_axis(quantiles, places, -2)[..., 0, :]
