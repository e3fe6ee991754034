"""REINFORCE: actions become more likely by the whole of what came after them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import ostinato as ot
from ostinato import optim, rl
from ostinato.language.kinds import Count, NonNegative, Probability
from ostinato.language.recurrent import Over
from ostinato.rl.environments.environment import begun, everywhere, plays_alone, points, stepped


def reinforce(
    env: rl.Env[rl.Actions], *, episodes: Count = 16, steps: Count = 500, iterations: Count = 100,
    hidden: Sequence[Count] = (64, 64), learning_rate: ot.Tensor | NonNegative = 0.005,
    discount: ot.Tensor | Probability = 0.99, baseline: bool = True, lookahead: Count | None = None,
    entropy: ot.Tensor | NonNegative = 0.0, normalise_gain: bool = True, over: Over = (),
) -> rl.Training:  # fmt: skip
    """Policy gradients of whole episodes, Monte Carlo or of ``lookahead`` steps.

    A critic is the ``baseline`` that is subtracted, and says what follows where an episode is cut
    or the lookahead ends. With neither of both there is no critic, and nothing follows.
    Source: Williams 1992, Simple statistical gradient-following algorithms for connectionist
    reinforcement learning; Sutton and Barto 2018, sections 13.4 and 7.1.

    >>> from ostinato import rl
    >>> training = rl.reinforce(rl.CartPole(), iterations=5)
    >>> training.train(seed=1)["episode_return"].shape
    (5,)
    """
    b, i, t = ot.dims("b i t")
    updates = ot.carried(i, each=(each := rl.trainings(over, learning_rate, discount, entropy)))
    actor, critic = rl.Actor(env, hidden, updates), rl.Critic(env, hidden, updates)
    has_critic = baseline or lookahead is not None
    played = episodes_of(env, lambda seen: actor(seen).sample(), (*each, b), i, t)
    reward, value = played.reward, critic(played.observation)
    ends = played.terminated, played.truncated
    after = critic(played.following) if has_critic else 0.0 * reward
    if lookahead is None:
        outcome = rl.lambda_return(reward, after, *ends, t, discount=discount, trace=1.0)
    else:
        outcome = rl.n_step_return(reward, after, *ends, t, lookahead, discount=discount)
    outcome = ot.stop_gradient(outcome)
    gain = outcome - value if baseline else outcome
    if normalise_gain:
        every = rl.across(gain, b, t)
        gain = (gain - every.mean()) / (every.std() + 1e-8)
    # loss = -E[A log pi(a)] - c_e E[H(pi)], of the critic E[(G - V)**2]
    policy = actor(played.observation)
    policy_loss = -rl.averaged(policy.log_prob(played.action) * ot.stop_gradient(gain), b, t)
    variety = rl.averaged(policy.entropy(), b, t)
    optim.Adam(learning_rate).minimize(policy_loss - entropy * variety, actor.parameters)
    told = {**measured(reward, b, i, t), "policy_loss": policy_loss, "entropy": variety}
    if has_critic:
        told["value_loss"] = error = rl.averaged((outcome - value) ** 2, b, t)
        optim.Adam(learning_rate).minimize(error, critic.parameters)
    return rl.Training(
        program=ot.Program(**{n: rl.along(x, each) for n, x in told.items()}), over=i, policy=actor,
        arguments={"B": episodes, "I": iterations, "T": steps}, steps_per_record=episodes * steps,
        networks={"actor": actor, **({"critic": critic} if has_critic else {})},
        tensors={**played.fields, "outcome": outcome}, steps_taken=TAKEN,
    )  # fmt: skip


def episodes_of(
    env: rl.Env[rl.Actions], act: Callable[[ot.Tensor], ot.Tensor], games: Sequence[ot.Dimension],
    i: ot.Dimension, t: ot.Dimension,
) -> ot.Record:  # fmt: skip
    """Return what happened at every step of whole episodes, which end.

    Errors: ArgumentError for a game of two players.
    """
    plays_alone(env, "an algorithm of whole episodes")
    first = begun(env, games, i)
    state = ot.recurrent("state", like=env.state, over=(*games, i, t))
    seen = rl.seen(env, state)
    action = act(seen)
    following, reward, terminated, truncated = stepped(env, state, rl.allowed(env, action))
    state[(*games, i, 0)] = first
    state[(*games, i, t + 1)] = following
    ot.stop(t, when=terminated | truncated)
    after = everywhere(rl.seen(env, following), points(state, action))
    return ot.Record(
        observation=seen, action=action, reward=reward.cast("float32"),
        following=after, terminated=terminated, truncated=truncated,
    )  # fmt: skip


TAKEN = ("episode_length", "episodes")  # steps behind the end of an episode are none


def measured(
    reward: ot.Tensor, b: ot.Dimension, i: ot.Dimension, t: ot.Dimension
) -> dict[str, ot.Tensor]:
    """Return the mean return and length of the episodes of an iteration, and how many these are."""
    return {
        "episode_return": reward.at(t=slice(None)).sum(0).at(b=slice(None)).mean(),
        "episode_length": ot.length(t).at(b=slice(None)).mean(),
        "episodes": ot.index(b.size) + 0 * ot.index(i),
    }
