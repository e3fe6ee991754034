"""Deep Q-learning: what actions are worth, learnt from steps of long ago."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import ostinato as ot
from ostinato import optim, rl
from ostinato.language.carry import Carried
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
    lookahead: Count = 3, prioritised: bool = False, power: ot.Tensor | NonNegative = 0.6,
    correction: ot.Tensor | Probability = 0.4, norm: ot.Tensor | Limit = 10.0, over: Over = (),
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
    can_learn(env, lookahead, steps, "dqn")
    (b, i, t), m = ot.dims("b i t"), ot.dim("m", size=updates)
    settings = learning_rate, discount, decay, exploration, explored, norm, power, correction
    loops = ot.carried(i, m, each=(each := rl.trainings(over, *settings)))
    values = rl.ActionValues(env, hidden, loops, dueling=dueling)
    slow = values.map(lambda weight: optim.exponential_average(weight, decay))
    played, rate = explored_games(env, values.at(m=0), (b, i, t), each, exploration, explored)
    replay = replay_of(played, batch, window, loops, lookahead, power if prioritised else None)
    earned, weight, following = rl.replayed_return(replay, played, lookahead, discount)
    chosen = (values if double else slow)(following).argmax(-1)
    target = ot.stop_gradient(earned + weight * taken(slow(following), chosen))
    error = taken(values(replay(played.observation)), replay(played.action)) - target
    loss = (counted(replay, error, correction) * error**2).mean()
    learner(learning_rate, anneal, i, start, norm).minimize(loss, values.parameters)
    return trained(
        played, rl.Greedy(values), {"loss": loss.at(m=-1), "exploration": rate}, each=each,
        networks={"values": values, "slow": slow}, tensors={**replay.tensors, "loss": loss},
        B=games, I=iterations, T=steps,
    )  # fmt: skip


def replay_of(
    games: rl.Rollout, size: int, window: int, loops: Carried, ahead: int,
    power: ot.Tensor | float | None,
) -> rl.Replay:  # fmt: skip
    """Return draws for every update: all steps alike, or by ``power`` of their last errors."""
    if power is None:
        return rl.Replay(games.dims, size, window=window, over=loops, ahead=ahead)
    return rl.PrioritisedReplay(
        games.dims, size, window=window, updates=loops, ahead=ahead, power=power
    )


def counted(replay: rl.Replay, error: ot.Tensor, correction: ot.Tensor | float) -> ot.Tensor:
    """Return how much each drawn step counts, after a replay by errors has learnt of them."""
    if not isinstance(replay, rl.PrioritisedReplay):
        return ot.constant(1.0)
    replay.learn(error)
    _, i, _ = replay.dims
    return replay.weights(correction + (1.0 - correction) * i / i.size)


def learner(
    rate: ot.Tensor | float, anneal: bool, i: ot.Dimension, start: int, norm: ot.Tensor | float
) -> optim.Optimizer:
    """Return the optimizer of updates from replay, which are made once ``start`` are over."""
    pace = rate * (1.0 - i / i.size) if anneal else rate
    return optim.Masked(optim.Clipped(optim.Adam(pace), norm=norm), ot.index(i) >= start)


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


def can_learn(env: rl.Env[rl.Discrete], lookahead: int, steps: int, algorithm: str) -> None:
    """Refuse other actions than numbers, and returns of more steps than an iteration has.

    Errors: ArgumentError.
    """
    acts_by(env, rl.Discrete, algorithm)
    if lookahead > steps:
        fact = f"`{algorithm}` looks ahead {lookahead} steps, and an iteration has {steps}"
        raise ArgumentError(fact, f"Give steps={lookahead}, or more.", place())


def taken(values: ot.Tensor, action: ot.Tensor) -> ot.Tensor:
    """Return the values of the actions that were taken."""
    return ot.take_along_axis(values, action[..., None], -1)[..., 0]
