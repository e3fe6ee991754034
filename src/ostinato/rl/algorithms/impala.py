"""Actor-critic with V-trace: learning from games that an older policy has played."""

from __future__ import annotations

from collections.abc import Sequence

import ostinato as ot
from ostinato import optim, rl
from ostinato.language.kinds import Count, Limit, Natural, NonNegative, Positive, Probability
from ostinato.language.recurrent import Over
from ostinato.rl.agent import trained
from ostinato.rl.environments.environment import plays_alone


def impala(
    env: rl.Env[rl.Actions], *, games: Count = 16, steps: Count = 16, iterations: Count = 2000,
    lag: Natural = 4, learning_rate: ot.Tensor | NonNegative = 1e-3, anneal: bool = True,
    hidden: Sequence[Count] = (64, 64), discount: ot.Tensor | Probability = 0.99,
    most: ot.Tensor | Positive = 1.0, entropy: ot.Tensor | NonNegative = 0.01,
    value_weight: ot.Tensor | NonNegative = 0.5, norm: ot.Tensor | Limit = 0.5, over: Over = (),
) -> rl.Training:  # fmt: skip
    """Actor-critic whose games are played with the policy of ``lag`` updates before.

    Every iteration ``i`` plays ``t`` steps of ``b`` games and makes one update. What the older
    policy did counts by how probable the newer one finds it, at most ``most`` times.

    Source: Espeholt et al. 2018, IMPALA: scalable distributed deep-RL with importance weighted
    actor-learner architectures.

    >>> from ostinato import rl
    >>> training = rl.impala(rl.CartPole(), games=16, iterations=100)
    >>> training.train(seed=1)["episode_return"].shape
    (100,)
    """
    plays_alone(env, "`impala`")
    b, i, t = ot.dims("b i t")
    settings = learning_rate, discount, most, entropy, value_weight, norm
    updates = ot.carried(i, each=(each := rl.trainings(over, *settings)))
    actor, critic = rl.Actor(env, hidden, updates), rl.Critic(env, hidden, updates)
    older = actor.at(i=ot.maximum(i - lag, 0))

    # What happened, and what it was worth to the newer policy.
    played = rl.rollout(env, lambda seen: older(seen).sample(), (b, i, t), each=each)
    policy, value = actor(played.observation), critic(played.observation)
    log_prob = policy.log_prob(played.action)
    log_ratio = ot.stop_gradient(log_prob - rl.log_prob(played.action))
    target, gain = rl.v_trace(
        played.reward, value, critic(played.following), played.terminated, played.truncated, t,
        log_ratio, discount=discount, most=most,
    )  # fmt: skip

    # loss = -E[A log pi(a)] + c_v E[(G - V)**2] - c_e E[H(pi)]
    policy_loss = -rl.averaged(log_prob * ot.stop_gradient(gain), b, t)
    value_loss = rl.averaged((ot.stop_gradient(target) - value) ** 2, b, t)
    variety = rl.averaged(policy.entropy(), b, t)
    loss = policy_loss + value_weight * value_loss - entropy * variety
    rate = learning_rate * (1.0 - i / i.size) if anneal else learning_rate
    optimizer = optim.Clipped(optim.Adam(rate, eps=1e-5), norm=norm)
    optimizer.minimize(loss, (*actor.parameters, *critic.parameters))
    told = {"policy_loss": policy_loss, "value_loss": value_loss, "entropy": variety}
    return trained(
        played, actor, told, each=each, networks={"actor": actor, "critic": critic},
        tensors={"log_ratio": log_ratio}, B=games, I=iterations, T=steps,
    )  # fmt: skip
