"""Deep Q-learning: what actions are worth, learnt from steps of long ago."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import ostinato as ot
from ostinato import optim, rl
from ostinato.language.kinds import Count, Limit, Natural, NonNegative, Probability
from ostinato.language.recurrent import Over
from ostinato.pdg.errors import ArgumentError
from ostinato.provenance.place import place
from ostinato.rl.agent import trained
from ostinato.rl.environments.environment import acts_by


def dqn(
    env: rl.Env[rl.Discrete], *, games: Count = 1, steps: Count = 8, iterations: Count = 12500,
    updates: Count = 1, batch: Count = 128, window: Count = 1250, start: Natural = 125,
    hidden: Sequence[Count] = (64, 64), learning_rate: ot.Tensor | NonNegative = 5e-4,
    anneal: bool = False, discount: ot.Tensor | Probability = 0.99,
    decay: ot.Tensor | Probability = 0.99, exploration: ot.Tensor | Probability = 0.01,
    explored: ot.Tensor | Probability = 0.2, double: bool = True, dueling: bool = False,
    lookahead: Count = 3, prioritised: bool = False,
    power: ot.Tensor | NonNegative = 0.6, correction: ot.Tensor | Probability = 0.4,
    norm: ot.Tensor | Limit = 10.0, over: Over = (),
) -> rl.Training:  # fmt: skip
    """Deep Q-learning, ``double`` or not, ``dueling`` or not, from ``lookahead`` steps.

    Every update takes a ``batch`` of steps from the last ``window`` iterations, once ``start`` are
    over; ``prioritised``, those whose last error was large are drawn more often, and count less, by
    a ``correction`` that becomes whole in the run. Random actions fall from all to ``exploration``
    in the part ``explored`` of the run.
    Source: Mnih et al. 2015, Human-level control through deep reinforcement learning; van Hasselt
    et al. 2016, Deep reinforcement learning with double Q-learning; Wang et al. 2016, Dueling
    network architectures; Schaul et al. 2016, Prioritized experience replay; the target network is
    an average, as in Lillicrap et al. 2016.

    Errors: ArgumentError for a lookahead of more steps than an iteration has.

    >>> from ostinato import rl
    >>> training = rl.dqn(rl.CartPole(), iterations=100)
    >>> training.train(seed=1)["episode_return"].shape
    (100,)
    """
    acts_by(env, rl.Discrete, "dqn")
    can_look(lookahead, steps, "dqn")
    (b, i, t), m = ot.dims("b i t"), ot.dim("m", size=updates)
    each = rl.trainings(
        over, learning_rate, discount, decay, exploration, explored, norm, power, correction
    )
    loops = ot.carried(i, m, each=each)
    values = rl.ActionValues(env, hidden, loops, dueling=dueling)
    slow = values.map(lambda weight: optim.exponential_average(weight, decay))
    played, rate = explored_games(env, values.at(m=0), (b, i, t), each, exploration, explored)

    # The rows of one update, and what they led to.
    drawn = {"window": window, "ahead": lookahead}
    priorities: rl.PrioritisedReplay | None = None
    if prioritised:
        priorities = rl.PrioritisedReplay((b, i, t), batch, updates=loops, power=power, **drawn)
    replay = priorities or rl.Replay((b, i, t), batch, over=(*each, i, m), **drawn)
    earned, weight, following = rl.replayed_return(replay, played, lookahead, discount)
    after = slow(following)
    chosen = values(following) if double else after
    target = earned + weight * taken(after, chosen.argmax(-1))

    # loss = E[(G - Q(s, a))**2]
    value = taken(values(replay(played.observation)), replay(played.action))
    error = value - ot.stop_gradient(target)
    loss = (error**2).mean()
    if priorities is not None:
        priorities.learn(error)
        whole = correction + (1.0 - correction) * i / i.size
        loss = (priorities.weights(whole) * error**2).mean()
    pace = learning_rate * (1.0 - i / i.size) if anneal else learning_rate
    optimizer = optim.Clipped(optim.Adam(pace), norm=norm)
    optim.Masked(optimizer, ot.index(i) >= start).minimize(loss, values.parameters)
    return trained(
        played, rl.Greedy(values), {"loss": loss.at(m=-1), "exploration": rate}, each=each,
        networks={"values": values, "slow": slow}, tensors={**replay.tensors, "loss": loss},
        B=games, I=iterations, T=steps,
    )  # fmt: skip


def explored_games(
    env: rl.Env[rl.Discrete], values: Callable[[ot.Tensor], ot.Tensor],
    dims: tuple[ot.Dimension, ot.Dimension, ot.Dimension], each: Sequence[ot.Dimension],
    least: ot.Tensor | float, explored: ot.Tensor | float,
) -> tuple[rl.Rollout, ot.Tensor]:  # fmt: skip
    """Return games of the best actions, some at random, and how many of them are."""
    _, i, _ = dims
    rate = ot.maximum(1.0 - (1.0 - least) * i / (explored * i.size), least)

    def act(seen: ot.Tensor) -> ot.Tensor:
        best = values(seen).argmax(-1)
        return rl.exploring(best, env.actions.count, rate, over=(*each, *dims))

    return rl.rollout(env, act, dims, each=each), rate


def can_look(lookahead: int, steps: int, algorithm: str) -> None:
    """Refuse returns of more steps than an iteration has.

    Errors: ArgumentError.
    """
    if lookahead > steps:
        fact = f"`{algorithm}` looks ahead {lookahead} steps, and an iteration has {steps}"
        raise ArgumentError(fact, f"Give steps={lookahead}, or more.", place())


def taken(values: ot.Tensor, action: ot.Tensor) -> ot.Tensor:
    """Return the values of the actions that were taken."""
    return ot.take_along_axis(values, action[..., None], -1)[..., 0]
