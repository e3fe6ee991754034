"""Soft actor-critic: the most reward with the most random actions, from steps of long ago."""

from __future__ import annotations

from collections.abc import Sequence

import ostinato as ot
from ostinato import nn, optim, rl
from ostinato.language.kinds import Count, Finite, Natural, NonNegative, Probability
from ostinato.language.recurrent import Over
from ostinato.rl.environments.environment import acts_by


def sac(
    env: rl.Env[rl.Box], *, games: Count = 1, steps: Count = 16, iterations: Count = 1250,
    updates: Count = 16, batch: Count = 128, window: Count = 1250, start: Natural = 32,
    hidden: Sequence[Count] = (64, 64), learning_rate: ot.Tensor | NonNegative = 1e-3,
    discount: ot.Tensor | Probability = 0.99, decay: ot.Tensor | Probability = 0.995,
    entropy: ot.Tensor | Finite | None = None, over: Over = (),
) -> rl.Training:  # fmt: skip
    """Soft actor-critic with two critics and a temperature that is learnt.

    Every iteration ``i`` plays ``t`` steps of ``b`` games, and makes ``updates``, each from a
    ``batch`` of steps out of the last ``window`` iterations. In the first ``start`` iterations
    actions are random and nothing is learnt. The temperature is such that the policy has the
    ``entropy``, in nats (default: minus the number of values in an action). All networks of an
    update take their step from the same parameters.

    Source: Haarnoja et al. 2018, Soft actor-critic algorithms and applications.

    >>> from ostinato import rl
    >>> training = rl.sac(rl.Pendulum(), iterations=40)
    >>> training.train(seed=1)["episode_return"].shape
    (40,)
    """
    acts_by(env, rl.Box, "sac")
    b, i, t = ot.dims("b i t")
    m = ot.dim("m", size=updates)
    each = rl.trainings(over, learning_rate, discount, decay, entropy)
    learnt, size = ot.carried(i, m, each=each), env.actions.size
    actor = rl.SquashedActor(env, hidden, learnt)
    critics = [rl.ActionCritic(env, hidden, learnt, name=f"critic_{k}") for k in (0, 1)]
    slow = [critic.map(lambda w: optim.exponential_average(w, decay)) for critic in critics]
    log_temperature = nn.parameter("log_temperature", (), nn.init.zeros, learnt)
    temperature = ot.exp(log_temperature)
    acting = actor.at(m=0)

    # What happened.
    def act(seen: ot.Tensor) -> ot.Tensor:
        low, high = env.actions.low, env.actions.high
        anything = ot.random.uniform((size,), low, high, over=(*each, b, i, t))
        return ot.where(i < start, anything, acting(seen).sample())

    played = rl.rollout(env, act, (b, i, t), each=each)

    # The rows of one update, and what they led to.
    replay = rl.Replay((b, i, t), batch, window=window, over=(*each, i, m))
    seen, action = replay(played.observation), replay(played.action)
    reward, following = replay(played.reward), replay(played.following)
    ahead = actor(following)
    then = ahead.sample()
    soft = worst(slow, following, then) - temperature * ahead.log_prob(then)
    target = reward + discount * ot.where(replay(played.terminated), 0.0, soft)

    # loss of a critic = E[(Q(s, a) - y)**2], of the actor = E[alpha log pi(a) - Q(s, a)]
    errors = [(critic(seen, action) - ot.stop_gradient(target)) ** 2 for critic in critics]
    critic_loss = errors[0].mean() + errors[1].mean()
    policy = actor(seen)
    chosen = policy.rsample()
    log_prob = policy.log_prob(chosen)
    value = worst(critics, seen, chosen)
    actor_loss = (temperature * log_prob - value).mean()
    wanted = -size if entropy is None else entropy
    excess = ot.stop_gradient(-log_prob.mean()) - wanted
    temperature_loss = temperature * excess

    learning = optim.Masked(optim.Adam(learning_rate), ot.index(i) >= start)
    learning.minimize(critic_loss, [w for critic in critics for w in critic.parameters])
    learning.minimize(actor_loss, actor.parameters)
    learning.minimize(temperature_loss, [log_temperature])

    told = {"critic_loss": critic_loss, "actor_loss": actor_loss, "temperature": temperature}
    last = {name: x.at(m=-1) for name, x in told.items()}
    return rl.Training(
        program=ot.Program(**rl.finished(played, each=each, **last)), over=i, policy=actor,
        arguments={"B": games, "I": iterations, "T": steps}, steps_per_record=games * steps,
        networks={"actor": actor, "critic_0": critics[0], "critic_1": critics[1]},
        tensors={
            **played.tensors, **replay.tensors, "critic_loss": critic_loss,
            "actor_loss": actor_loss, "log_temperature": log_temperature,
            **{name: x.before for name, x in (("drawn", chosen), ("drawn_after", then))
               if x.before is not None},
        },
    )  # fmt: skip


def worst(
    critics: Sequence[rl.ActionCritic], observation: ot.Tensor, action: ot.Tensor
) -> ot.Tensor:
    """Return the lowest of what critics say that actions are worth."""
    first, second = (critic(observation, action) for critic in critics)
    return ot.minimum(first, second)
