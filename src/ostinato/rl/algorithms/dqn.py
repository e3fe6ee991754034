"""Deep Q-learning: what actions are worth, learnt from steps of long ago."""

from __future__ import annotations

from collections.abc import Sequence

import ostinato as ot
from ostinato import optim, rl
from ostinato.language.kinds import Count, Limit, Natural, NonNegative, Probability
from ostinato.language.recurrent import Over
from ostinato.pdg.errors import ArgumentError
from ostinato.provenance.place import place
from ostinato.rl.environments.environment import acts_by


def dqn(
    env: rl.Env[rl.Discrete], *, games: Count = 1, steps: Count = 8, iterations: Count = 12500,
    updates: Count = 1, batch: Count = 128, window: Count = 1250, start: Natural = 125,
    hidden: Sequence[Count] = (64, 64), learning_rate: ot.Tensor | NonNegative = 5e-4,
    discount: ot.Tensor | Probability = 0.99, decay: ot.Tensor | Probability = 0.99,
    exploration: ot.Tensor | Probability = 0.01, explored: ot.Tensor | Probability = 0.2,
    double: bool = True, dueling: bool = False, lookahead: Count = 3,
    norm: ot.Tensor | Limit = 10.0, over: Over = (),
) -> rl.Training:  # fmt: skip
    """Deep Q-learning, ``double`` or not, ``dueling`` or not, from ``lookahead`` steps.

    Every iteration ``i`` plays ``t`` steps of ``b`` games, and makes ``updates``, each from a
    ``batch`` of steps out of the last ``window`` iterations, once ``start`` iterations are over.
    The rate of random actions falls from 1 to ``exploration`` in the part ``explored`` of the run.
    The network that says what follows is an average of the one that learns, which each update
    ``decay``s.

    Source: Mnih et al. 2015, Human-level control through deep reinforcement learning; van Hasselt
    et al. 2016, Deep reinforcement learning with double Q-learning; Wang et al. 2016, Dueling
    network architectures; Sutton and Barto 2018, section 7.1, for several steps.

    Errors: ArgumentError for a lookahead of more steps than an iteration has.

    >>> from ostinato import rl
    >>> training = rl.dqn(rl.CartPole(), iterations=100)
    >>> training.train(seed=1)["episode_return"].shape
    (100,)
    """
    acts_by(env, rl.Discrete, "dqn")
    if lookahead > steps:
        fact = f"`dqn` looks ahead {lookahead} steps, and an iteration has {steps}"
        raise ArgumentError(fact, f"Give steps={lookahead}, or more.", place())
    b, i, t = ot.dims("b i t")
    m = ot.dim("m", size=updates)
    each = rl.trainings(over, learning_rate, discount, decay, exploration, explored, norm)
    values = rl.ActionValues(env, hidden, ot.carried(i, m, each=each), dueling=dueling)
    slow = values.map(lambda weight: optim.exponential_average(weight, decay))

    # What happened: the best action, or another one.
    acting, count = values.at(m=0), env.actions.count
    rate = ot.maximum(1.0 - (1.0 - exploration) * i / (explored * i.size), exploration)

    def act(seen: ot.Tensor) -> ot.Tensor:
        return rl.exploring(acting(seen).argmax(-1), count, rate, over=(*each, b, i, t))

    played = rl.rollout(env, act, (b, i, t), each=each)

    # The rows of one update, and what they led to.
    replay = rl.Replay((b, i, t), batch, window=window, over=(*each, i, m), ahead=lookahead)
    seen, action = replay(played.observation), replay(played.action)
    earned, weight, following = rl.replayed_return(replay, played, lookahead, discount)
    after = slow(following)
    chosen = values(following) if double else after
    target = earned + weight * taken(after, chosen.argmax(-1))

    # loss = E[(G - Q(s, a))**2]
    error = taken(values(seen), action) - ot.stop_gradient(target)
    loss = (error**2).mean()
    optimizer = optim.Clipped(optim.Adam(learning_rate), norm=norm)
    learning = optim.Masked(optimizer, ot.index(i) >= start)
    learning.minimize(loss, values.parameters)

    told = {"loss": loss.at(m=-1), "exploration": rate}
    return rl.Training(
        program=ot.Program(**rl.finished(played, each=each, **told)), over=i,
        policy=rl.Greedy(values), arguments={"B": games, "I": iterations, "T": steps},
        steps_per_record=games * steps, networks={"values": values, "slow": slow},
        tensors={**played.tensors, **replay.tensors, "loss": loss},
    )  # fmt: skip


def taken(values: ot.Tensor, action: ot.Tensor) -> ot.Tensor:
    """Return the values of the actions that were taken."""
    return ot.take_along_axis(values, action[..., None], -1)[..., 0]
