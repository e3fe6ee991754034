"""Evolution strategies: parameters move towards those of their neighbours that did better."""

from __future__ import annotations

from collections.abc import Sequence

import ostinato as ot
from ostinato import optim, rl
from ostinato.language.kinds import Count, NonNegative, Positive
from ostinato.language.recurrent import Over
from ostinato.rl.algorithms.reinforce import TAKEN, episodes_of


def evolution(
    env: rl.Env[rl.Actions], *, pairs: Count = 32, steps: Count = 500, iterations: Count = 50,
    hidden: Sequence[Count] = (32,), learning_rate: ot.Tensor | NonNegative = 0.05,
    std: ot.Tensor | Positive = 0.1, over: Over = (),
) -> rl.Training:  # fmt: skip
    """Evolution strategies: an update per iteration, without gradients of the policy.

    Every iteration ``i`` draws ``pairs`` of opposite normal changes of all parameters, of deviation
    ``std``, and plays one episode of at most ``t`` steps with each. A change counts by the rank of
    its return among all. Actions are those that the policy finds best.

    Source: Salimans et al. 2017, Evolution strategies as a scalable alternative to reinforcement
    learning.

    >>> from ostinato import rl
    >>> training = rl.evolution(rl.CartPole(), pairs=8, iterations=5)
    >>> training.train(seed=1)["episode_return"].shape
    (5,)
    """
    b, s = ot.dim("b", size=pairs), ot.dim("s", size=2)
    i, t = ot.dims("i t")
    each = rl.trainings(over, learning_rate, std)
    actor = rl.Actor(env, hidden, ot.carried(i, each=each))

    # Neighbours of the parameters, on both sides, each along the dimensions b and s.
    noise = {w.node: ot.random.normal(w.shape, over=(*each, b, i)) for w in actor.parameters}
    side = 1.0 - 2.0 * s
    member = actor.map(lambda w: w + side * std * noise[w.node])

    played = episodes_of(env, lambda seen: member(seen).mode, (*each, b, s), i, t)
    outcome = played.reward.at(t=slice(None)).sum(0)

    # gradient of the mean rank = E[(rank on one side - rank on the other) noise] / (2 std)
    every = rl.across(outcome, b, s)
    worse = (every < outcome).cast("float32").sum() + 0.5 * (every == outcome).cast("float32").sum()
    rank = worse / (2.0 * b.size) - 0.5
    better = rank.at(s=0) - rank.at(s=1)
    slopes = [rl.across(better * noise[w.node], b).mean(0) / (2.0 * std) for w in actor.parameters]
    optim.Adam(learning_rate).update(actor.parameters, [-slope for slope in slopes])

    length = ot.length(t).at(b=slice(None), s=slice(None))
    told = {
        "episode_return": every.mean(), "best_return": every.max(),
        "episode_length": length.mean(), "episodes": ot.index(2 * pairs) + 0 * ot.index(i),
    }  # fmt: skip
    return rl.Training(
        program=ot.Program(**{name: rl.along(x, each) for name, x in told.items()}), over=i,
        policy=actor, arguments={"I": iterations, "T": steps}, steps_per_record=2 * pairs * steps,
        networks={"actor": actor}, tensors={"outcome": outcome, "rank": rank}, steps_taken=TAKEN,
    )  # fmt: skip
