"""Twin delayed deterministic policy gradients: one best action, from steps of long ago."""

from __future__ import annotations

from collections.abc import Sequence

import ostinato as ot
from ostinato import optim, rl
from ostinato.language.kinds import Count, Natural, NonNegative, Probability
from ostinato.language.recurrent import Over
from ostinato.rl.environments.environment import acts_by


def td3(
    env: rl.Env[rl.Box], *, games: Count = 1, steps: Count = 16, iterations: Count = 1250,
    updates: Count = 16, batch: Count = 128, window: Count = 1250, start: Natural = 32,
    hidden: Sequence[Count] = (64, 64), learning_rate: ot.Tensor | NonNegative = 1e-3,
    discount: ot.Tensor | Probability = 0.99, decay: ot.Tensor | Probability = 0.995,
    noise: ot.Tensor | NonNegative = 0.1, smoothing: ot.Tensor | NonNegative = 0.2,
    smoothed: ot.Tensor | NonNegative = 0.5, delay: Count = 2, over: Over = (),
) -> rl.Training:  # fmt: skip
    """Twin delayed deterministic policy gradients.

    Every iteration ``i`` plays ``t`` steps of ``b`` games, and makes ``updates``, each from a
    ``batch`` of steps out of the last ``window`` iterations. In the first ``start`` iterations
    actions are random and nothing is learnt; later they have normal ``noise``. What follows is
    judged by the worse of two critics, for an action with the noise ``smoothing`` of at most
    ``smoothed``. All noise is in units of half the range of actions. The actor, and the averages
    that say what follows, take one step in ``delay`` updates.

    Source: Fujimoto et al. 2018, Addressing function approximation error in actor-critic methods.

    >>> from ostinato import rl
    >>> training = rl.td3(rl.Pendulum(), iterations=40)
    >>> training.train(seed=1)["episode_return"].shape
    (40,)
    """
    acts_by(env, rl.Box, "td3")
    b, i, t = ot.dims("b i t")
    m = ot.dim("m", size=updates)
    each = rl.trainings(over, learning_rate, discount, decay, noise, smoothing, smoothed)
    learnt, low, high = ot.carried(i, m, each=each), env.actions.low, env.actions.high
    half = 0.5 * (high - low)
    actor = rl.DeterministicActor(env, hidden, learnt)
    critics = [rl.ActionCritic(env, hidden, learnt, name=f"critic_{k}") for k in (0, 1)]
    moves = (ot.index(i) >= start) & ((ot.index(i) * updates + ot.index(m)) % delay == delay - 1)
    rest = ot.where(moves, decay, 1.0)
    slow_actor = actor.map(lambda w: optim.exponential_average(w, rest))
    slow = [critic.map(lambda w: optim.exponential_average(w, rest)) for critic in critics]
    acting, shape = actor.at(m=0), (env.actions.size,)

    # What happened.
    def act(seen: ot.Tensor) -> ot.Tensor:
        anything = ot.random.uniform(shape, low, high, over=(*each, b, i, t))
        around = half * noise * ot.random.normal(shape, over=(*each, b, i, t))
        return ot.where(i < start, anything, ot.clip(acting(seen) + around, low, high))

    played = rl.rollout(env, act, (b, i, t), each=each)

    # The rows of one update, and what they led to.
    replay = rl.Replay((b, i, t), batch, window=window, over=(*each, i, m))
    seen, action = replay(played.observation), replay(played.action)
    reward, following = replay(played.reward), replay(played.following)
    around = smoothing * ot.random.normal((batch, *shape), over=(*each, i, m))
    near = half * ot.clip(around, -smoothed, smoothed)
    then = ot.clip(slow_actor(following) + near, low, high)
    value_after = ot.minimum(slow[0](following, then), slow[1](following, then))
    target = reward + discount * ot.where(replay(played.terminated), 0.0, value_after)

    # loss of a critic = E[(Q(s, a) - y)**2], of the actor = -E[Q(s, pi(s))]
    errors = [(critic(seen, action) - ot.stop_gradient(target)) ** 2 for critic in critics]
    critic_loss = errors[0].mean() + errors[1].mean()
    actor_loss = -critics[0](seen, actor(seen)).mean()
    learning = optim.Masked(optim.Adam(learning_rate), ot.index(i) >= start)
    learning.minimize(critic_loss, [w for critic in critics for w in critic.parameters])
    optim.Masked(optim.Adam(learning_rate), moves).minimize(actor_loss, actor.parameters)

    told = {"critic_loss": critic_loss.at(m=-1), "actor_loss": actor_loss.at(m=-1)}
    return rl.Training(
        program=ot.Program(**rl.finished(played, each=each, **told)), over=i, policy=actor,
        arguments={"B": games, "I": iterations, "T": steps}, steps_per_record=games * steps,
        networks={"actor": actor, "critic_0": critics[0], "critic_1": critics[1]},
        tensors={
            **played.tensors, **replay.tensors, "critic_loss": critic_loss,
            "actor_loss": actor_loss,
        },
    )  # fmt: skip
