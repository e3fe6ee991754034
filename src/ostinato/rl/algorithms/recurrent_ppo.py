"""Proximal policy optimisation with a memory: for agents that do not see all that matters."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import ostinato as ot
from ostinato import nn, optim, rl
from ostinato.language.kinds import Count, Limit, NonNegative, Positive, Probability
from ostinato.language.recurrent import Over
from ostinato.pdg.errors import ArgumentError
from ostinato.provenance.place import place


def recurrent_ppo(
    env: rl.Env[rl.Actions], *, games: Count = 8, steps: Count = 128, iterations: Count = 100,
    epochs: Count = 20, minibatches: Count = 4, cell: Literal["gru", "lstm"] = "gru",
    memory: Count = 32, hidden: Sequence[Count] = (32,),
    learning_rate: ot.Tensor | NonNegative = 1e-3, anneal: bool = True,
    discount: ot.Tensor | Probability = 0.98, trace: ot.Tensor | Probability = 0.8,
    clip: ot.Tensor | Positive = 0.2, entropy: ot.Tensor | NonNegative = 0.0,
    value_weight: ot.Tensor | NonNegative = 0.5, norm: ot.Tensor | Limit = 0.5,
    normalise_observation: bool = True, over: Over = (),
) -> rl.Training:  # fmt: skip
    """Clipped policy gradients through time, of a ``cell`` that remembers an episode.

    Every iteration ``i`` plays ``t`` steps of ``b`` games, and what was remembered goes on into the
    next one. Every epoch ``e`` takes whole games in another random order, in minibatches ``m``, and
    goes through their steps again from what was remembered at the first; where an episode begins
    the memory is empty. Gradients go back to the first step of an iteration.

    Source: Schulman et al. 2017, Proximal policy optimization algorithms; Huang et al. 2022, The 37
    implementation details of proximal policy optimization, on LSTMs.

    Errors: ArgumentError for games that the minibatches do not divide.

    >>> from ostinato import rl
    >>> training = rl.recurrent_ppo(rl.make("MaskedCartPole"), games=4, steps=16, iterations=10)
    >>> training.train(seed=1)["episode_return"].shape
    (10,)
    """
    if games % minibatches:
        fact = f"`recurrent_ppo` learns from {minibatches} minibatches of {games} games"
        raise ArgumentError(fact, "Give games that the minibatches divide.", place())
    b, i, e, t = ot.dims("b i e t")
    m = ot.dim("m", size=minibatches)
    each = rl.trainings(over, learning_rate, discount, trace, clip, entropy, value_weight, norm)
    updates, games_of = ot.carried(i, e, m, each=each), (*each, b)
    agent = rl.Remembering(env, cell, memory, hidden, updates)
    acting = agent.at(e=0, m=0)
    seen_as = rl.Moments(rl.observed(env), i, each=each) if normalise_observation else None

    def sees(observation: ot.Tensor) -> ot.Tensor:
        return observation if seen_as is None else seen_as(observation)

    # What happened, and how much better than expected it was.
    before = ot.carry("remembered", agent.nothing, over=(i, t), each=games_of)
    played = rl.rollout(
        env, lambda seen: acting.policy(acting.remember(sees(seen), before)).sample(), (b, i, t),
        each=each,
    )  # fmt: skip
    if seen_as is not None:
        seen_as.learn(played.observation, b, t)
    seen = sees(played.observation)
    remembered = acting.remember(seen, before)
    before.step(ot.where(played.done, agent.nothing, remembered))
    value = acting.value(remembered)
    advantage = rl.advantage(
        played.reward, value, acting.value(acting.remember(sees(played.following), remembered)),
        played.terminated, played.truncated, t, discount=discount, trace=trace,
    )  # fmt: skip

    # The games of one minibatch, all their steps.
    rows = rl.minibatch((b,), m, minibatches, over=(*each, i, e))
    begins = ot.where(t == 0, False, played.done.at(t=t - 1))
    x, action, old, gain, first, log_prob = (
        y.at(**rows)
        for y in (
            seen, played.action, value, advantage, begins,
            rl.log_prob(played.action),
        )
    )  # fmt: skip
    start = before.map(lambda field: field.at(t=0).at(**rows))
    states = nn.unroll(
        agent.remember, x, t, start, reset=first[..., None], fresh=agent.nothing, name="again"
    )

    # loss = -E[min(r A, clip(r) A)] + c_v E[(G - V)**2] - c_e E[H(pi)], with r = pi / pi_before
    target, every = gain + old, rl.across(gain, t)
    weight = (gain - every.mean()) / (every.std() + 1e-8)
    policy = agent.policy(states)
    ratio = ot.exp(policy.log_prob(action) - log_prob)
    clipped = ot.clip(ratio, 1.0 - clip, 1.0 + clip) * weight
    policy_loss = -rl.averaged(ot.minimum(ratio * weight, clipped), t)
    value_loss = rl.averaged((agent.value(states) - target) ** 2, t)
    variety = rl.averaged(policy.entropy(), t)
    loss = policy_loss + value_weight * value_loss - entropy * variety
    rate = learning_rate * (1.0 - i / i.size) if anneal else learning_rate
    optim.Clipped(optim.Adam(rate, eps=1e-5), norm=norm).minimize(loss, agent.parameters)

    told = {"policy_loss": policy_loss, "value_loss": value_loss, "entropy": variety}
    last = {name: x.at(e=-1, m=-1) for name, x in told.items()}
    return rl.Training(
        program=ot.Program(**rl.finished(played, each=each, **last)), over=i, policy=agent,
        arguments={"B": games, "I": iterations, "T": steps, "E": epochs},
        steps_per_record=games * steps, networks={"agent": agent},
        tensors={**played.tensors, "ratio": ratio},
    )  # fmt: skip
