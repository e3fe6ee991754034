"""Advantage actor-critic: an update per iteration, of all that was played in it."""

from __future__ import annotations

from collections.abc import Sequence

import ostinato as ot
from ostinato import optim, rl
from ostinato.language.kinds import Count, Limit, NonNegative, Probability
from ostinato.language.recurrent import Over
from ostinato.rl.agent import trained
from ostinato.rl.environments.environment import plays_alone


def a2c(
    env: rl.Env[rl.Actions], *, games: Count = 16, steps: Count = 16, iterations: Count = 2000,
    learning_rate: ot.Tensor | NonNegative = 1e-3, anneal: bool = True,
    hidden: Sequence[Count] = (64, 64), discount: ot.Tensor | Probability = 0.99,
    trace: ot.Tensor | Probability = 0.95, entropy: ot.Tensor | NonNegative = 0.01,
    value_weight: ot.Tensor | NonNegative = 0.5, norm: ot.Tensor | Limit = 0.5, over: Over = (),
) -> rl.Training:  # fmt: skip
    """Advantage actor-critic.

    Every iteration ``i`` plays ``t`` steps of ``b`` games and makes one update. Where an episode
    is cut, and at the last step, the critic says what would have followed.

    Source: Mnih et al. 2016, Asynchronous methods for deep reinforcement learning, with all games
    in step; advantages as in Schulman et al. 2016.

    >>> from ostinato import rl
    >>> training = rl.a2c(rl.CartPole(), games=16, iterations=100)
    >>> training.train(seed=1)["episode_return"].shape
    (100,)
    """
    plays_alone(env, "`a2c`")
    b, i, t = ot.dims("b i t")
    each = rl.trainings(over, learning_rate, discount, trace, entropy, value_weight, norm)
    updates = ot.carried(i, each=each)
    actor, critic = rl.Actor(env, hidden, updates), rl.Critic(env, hidden, updates)

    # What happened, and how much better than expected it was.
    played = rl.rollout(env, lambda seen: actor(seen).sample(), (b, i, t), each=each)
    value = critic(played.observation)
    advantage = rl.advantage(
        played.reward, value, critic(played.following), played.terminated, played.truncated, t,
        discount=discount, trace=trace,
    )  # fmt: skip
    target, gain = ot.stop_gradient(advantage + value), ot.stop_gradient(advantage)

    # loss = -E[A log pi(a)] + c_v E[(G - V)**2] - c_e E[H(pi)]
    policy = actor(played.observation)
    policy_loss = -rl.averaged(policy.log_prob(played.action) * gain, b, t)
    value_loss = rl.averaged((target - value) ** 2, b, t)
    variety = rl.averaged(policy.entropy(), b, t)
    loss = policy_loss + value_weight * value_loss - entropy * variety
    rate = learning_rate * (1.0 - i / i.size) if anneal else learning_rate
    parameters = (*actor.parameters, *critic.parameters)
    optim.Clipped(optim.Adam(rate, eps=1e-5), norm=norm).minimize(loss, parameters)

    losses = {"policy_loss": policy_loss, "value_loss": value_loss, "entropy": variety}
    return trained(
        played, actor, losses, each=each, networks={"actor": actor, "critic": critic},
        tensors={"value": value, "advantage": advantage}, B=games, I=iterations, T=steps,
    )  # fmt: skip
