"""Twin delayed deterministic policy gradients: one best action, from steps of long ago."""

from __future__ import annotations

from collections.abc import Sequence

import ostinato as ot
from ostinato import optim, rl
from ostinato.language.kinds import Count, Natural, NonNegative, Probability
from ostinato.language.recurrent import Over
from ostinato.rl.agent import trained
from ostinato.rl.algorithms.sac import squared_errors, warmed_up, worst
from ostinato.rl.environments.environment import acts_by


def td3(
    env: rl.Env[rl.Box], *, games: Count = 1, steps: Count = 16, iterations: Count = 1250,
    updates: Count = 16, batch: Count = 128, window: Count = 1250, start: Natural = 32,
    hidden: Sequence[Count] = (64, 64), learning_rate: ot.Tensor | NonNegative = 1e-3,
    discount: ot.Tensor | Probability = 0.99, decay: ot.Tensor | Probability = 0.995,
    noise: ot.Tensor | NonNegative = 0.1, smoothing: ot.Tensor | NonNegative = 0.2,
    smoothed: ot.Tensor | NonNegative = 0.5, delay: Count = 2, over: Over = (),
) -> rl.Training:  # fmt: skip
    """Twin delayed deterministic policy gradients; replay and ``start`` as in `sac`.

    Actions have normal ``noise``, and those that say what follows the noise ``smoothing`` of at
    most ``smoothed``, in units of half their range. The actor and the averages take one step in
    ``delay`` updates.
    Source: Fujimoto et al. 2018, Addressing function approximation error in actor-critic methods.

    >>> from ostinato import rl
    >>> training = rl.td3(rl.Pendulum(), iterations=40)
    >>> training.train(seed=1)["episode_return"].shape
    (40,)
    """
    acts_by(env, rl.Box, "td3")
    (b, i, t), m = ot.dims("b i t"), ot.dim("m", size=updates)
    each = rl.trainings(over, learning_rate, discount, decay, noise, smoothing, smoothed)
    learnt = ot.carried(i, m, each=each)
    actor = rl.DeterministicActor(env, hidden, learnt)
    critics = [rl.ActionCritic(env, hidden, learnt, name=f"critic_{k}") for k in (0, 1)]
    learns = ot.index(i) >= start
    moves = learns & ((ot.index(i) * updates + ot.index(m)) % delay == delay - 1)
    rest = ot.where(moves, decay, 1.0)
    slow_actor = actor.map(lambda w: optim.exponential_average(w, rest))
    slow_critics = [c.map(lambda w: optim.exponential_average(w, rest)) for c in critics]
    acting, on = actor.at(m=0), (*each, b, i, t)
    played = warmed_up(env, lambda x: noisy(acting(x), env, noise, on), start, (b, i, t), each)
    replay = rl.Replay((b, i, t), batch, window=window, over=(*each, i, m))
    x = {name: replay(tensor) for name, tensor in played.tensors.items()}
    # losses: of a critic E[(Q(s, a) - y)**2], of the actor -E[Q(s, pi(s))]
    near = noisy(slow_actor(x["following"]), env, smoothing, (*each, i, m), smoothed)
    after = worst(slow_critics, x["following"], near)
    critic_loss = squared_errors(critics, x, after, discount)
    actor_loss = -critics[0](x["observation"], actor(x["observation"])).mean()
    weights = [*critics[0].parameters, *critics[1].parameters]
    optim.Masked(optim.Adam(learning_rate), learns).minimize(critic_loss, weights)
    optim.Masked(optim.Adam(learning_rate), moves).minimize(actor_loss, actor.parameters)
    told = {"critic_loss": critic_loss.at(m=-1), "actor_loss": actor_loss.at(m=-1)}
    return trained(
        played, actor, told, each=each, tensors=replay.tensors,
        networks={"actor": actor, "critic_0": critics[0], "critic_1": critics[1]},
        B=games, I=iterations, T=steps,
    )  # fmt: skip


def noisy(
    action: ot.Tensor, env: rl.Env[rl.Box], std: ot.Tensor | float,
    over: Sequence[ot.Dimension], most: ot.Tensor | float | None = None,
) -> ot.Tensor:  # fmt: skip
    """Return an action with normal noise of at most some, in units of half their range."""
    low, high = env.actions.low, env.actions.high
    noise = std * ot.random.normal(action.shape, over=over)
    limited = noise if most is None else ot.clip(noise, -most, most)
    return ot.clip(action + 0.5 * (high - low) * limited, low, high)
