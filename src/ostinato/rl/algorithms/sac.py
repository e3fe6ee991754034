"""Soft actor-critic: the most reward with the most random actions, from steps of long ago."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import ostinato as ot
from ostinato import nn, optim, rl
from ostinato.language.kinds import Count, Finite, Natural, NonNegative, Probability
from ostinato.language.recurrent import Over
from ostinato.rl.agent import trained
from ostinato.rl.environments.environment import acts_by


def sac(
    env: rl.Env[rl.Box], *, games: Count = 1, steps: Count = 16, iterations: Count = 1250,
    updates: Count = 16, batch: Count = 128, window: Count = 1250, start: Natural = 32,
    hidden: Sequence[Count] = (64, 64), learning_rate: ot.Tensor | NonNegative = 1e-3,
    discount: ot.Tensor | Probability = 0.99, decay: ot.Tensor | Probability = 0.995,
    entropy: ot.Tensor | Finite | None = None, over: Over = (),
) -> rl.Training:  # fmt: skip
    """Soft actor-critic with two critics and a temperature that is learnt.

    Every update takes a ``batch`` of steps from the last ``window`` iterations; in the first
    ``start`` actions are random and nothing is learnt. The policy is to have the ``entropy``, in
    nats (default: minus the numbers in an action). All networks step from the same parameters.
    Source: Haarnoja et al. 2018, Soft actor-critic algorithms and applications.

    >>> from ostinato import rl
    >>> training = rl.sac(rl.Pendulum(), iterations=40)
    >>> training.train(seed=1)["episode_return"].shape
    (40,)
    """
    acts_by(env, rl.Box, "sac")
    (b, i, t), m = ot.dims("b i t"), ot.dim("m", size=updates)
    each = rl.trainings(over, learning_rate, discount, decay, entropy)
    actor = rl.SquashedActor(env, hidden, learnt := ot.carried(i, m, each=each))
    critics = [rl.ActionCritic(env, hidden, learnt, name=f"critic_{k}") for k in (0, 1)]
    slow = [critic.map(lambda w: optim.exponential_average(w, decay)) for critic in critics]
    log_temperature = nn.parameter("log_temperature", (), nn.init.zeros, learnt)
    temperature, acting = ot.exp(log_temperature), actor.at(m=0)
    played = warmed_up(env, lambda seen: acting(seen).sample(), start, (b, i, t), each)
    replay = rl.Replay((b, i, t), batch, window=window, over=(*each, i, m))
    x = {name: replay(tensor) for name, tensor in played.tensors.items()}
    # losses: of a critic E[(Q(s, a) - y)**2], of the actor E[alpha log pi(a) - Q(s, a)]
    ahead = actor(x["following"])
    then, chosen = ahead.sample(), actor(x["observation"]).rsample()
    soft = worst(slow, x["following"], then) - temperature * ahead.log_prob(then)
    critic_loss = squared_errors(critics, x, soft, discount)
    log_prob = rl.log_prob(chosen)
    actor_loss = (temperature * log_prob - worst(critics, x["observation"], chosen)).mean()
    excess = -log_prob.mean() - (-env.actions.size if entropy is None else entropy)
    learning = optim.Masked(optim.Adam(learning_rate), ot.index(i) >= start)
    learning.minimize(critic_loss, [w for critic in critics for w in critic.parameters])
    learning.minimize(actor_loss, actor.parameters)
    learning.minimize(temperature * ot.stop_gradient(excess), [log_temperature])
    told = {"critic_loss": critic_loss, "actor_loss": actor_loss, "temperature": temperature}
    drawn = {"drawn": unsquashed(chosen), "drawn_after": unsquashed(then)}
    return trained(
        played, actor, {name: loss.at(m=-1) for name, loss in told.items()}, each=each,
        networks={"actor": actor, "critic_0": critics[0], "critic_1": critics[1]},
        tensors={**replay.tensors, **drawn, "log_temperature": log_temperature},
        B=games, I=iterations, T=steps,
    )  # fmt: skip


def warmed_up(
    env: rl.Env[rl.Box], act: Callable[[ot.Tensor], ot.Tensor], start: int,
    dims: tuple[ot.Dimension, ot.Dimension, ot.Dimension], each: Sequence[ot.Dimension],
) -> rl.Rollout:  # fmt: skip
    """Return games whose actions are random in the first iterations."""
    _, i, _ = dims
    size, low, high = env.actions.size, env.actions.low, env.actions.high

    def chosen(seen: ot.Tensor) -> ot.Tensor:
        anything = ot.random.uniform((size,), low, high, over=(*each, *dims))
        return ot.where(i < start, anything, act(seen))

    return rl.rollout(env, chosen, dims, each=each)


def squared_errors(
    critics: Sequence[rl.ActionCritic], rows: Mapping[str, ot.Tensor], after: ot.Tensor,
    discount: ot.Tensor | float,
) -> ot.Tensor:  # fmt: skip
    """Return the mean squared error of critics, together, where what follows is worth ``after``."""
    target = rows["reward"] + discount * ot.where(rows["terminated"], 0.0, after)
    first, second = (
        (critic(rows["observation"], rows["action"]) - ot.stop_gradient(target)) ** 2
        for critic in critics
    )
    return first.mean() + second.mean()


def worst(
    critics: Sequence[rl.ActionCritic], observation: ot.Tensor, action: ot.Tensor
) -> ot.Tensor:
    """Return the lowest of what critics say that actions are worth."""
    first, second = (critic(observation, action) for critic in critics)
    return ot.minimum(first, second)


def unsquashed(action: rl.Sample) -> ot.Tensor:
    """Return the normal draw that was squashed to an action."""
    assert action.before is not None, "it was not squashed"
    return action.before
