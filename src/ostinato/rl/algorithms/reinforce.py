"""REINFORCE: actions become more likely by the whole of what came after them."""

from __future__ import annotations

from collections.abc import Sequence

import ostinato as ot
from ostinato import optim, rl
from ostinato.language.kinds import Count, NonNegative, Probability
from ostinato.language.recurrent import Over


def reinforce(
    env: rl.Env[rl.Actions], *, episodes: Count = 16, steps: Count = 500, iterations: Count = 100,
    hidden: Sequence[Count] = (64, 64), learning_rate: ot.Tensor | NonNegative = 0.005,
    discount: ot.Tensor | Probability = 0.99, baseline: bool = True, lookahead: Count | None = None,
    entropy: ot.Tensor | NonNegative = 0.0, normalise_gain: bool = True, over: Over = (),
) -> rl.Training:  # fmt: skip
    """Monte Carlo policy gradients, or those of ``lookahead`` steps, with a learnt ``baseline``.

    Every iteration ``i`` plays ``b`` episodes of at most ``t`` steps from their start, and makes
    one update; what lies behind the end of an episode is not counted. The critic is the baseline,
    which is subtracted from every return, and says what follows where an episode is cut or the
    lookahead ends. With neither there is no critic, and nothing follows.

    Source: Williams 1992, Simple statistical gradient-following algorithms for connectionist
    reinforcement learning; Sutton and Barto 2018, sections 13.4 and 7.1.

    >>> from ostinato import rl
    >>> training = rl.reinforce(rl.CartPole(), iterations=5)
    >>> training.train(seed=1)["episode_return"].shape
    (5,)
    """
    b, i, t = ot.dims("b i t")
    each = rl.trainings(over, learning_rate, discount, entropy)
    games, updates = (*each, b), ot.carried(i, each=each)
    actor, critic = rl.Actor(env, hidden, updates), rl.Critic(env, hidden, updates)
    has_critic = baseline or lookahead is not None

    # Episodes that end.
    state = ot.recurrent("state", like=env.state, over=(*games, i, t))
    seen = rl.seen(env, state)
    action = actor(seen).sample()
    following, earned, terminated, truncated = env.step(state, rl.allowed(env, action))
    state[(*games, i, 0)] = env.reset(over=(*games, i))
    state[(*games, i, t + 1)] = following
    ot.stop(t, when=terminated | truncated)

    # What each action led to.
    reward, value = earned.cast("float32"), critic(seen)
    after = critic(rl.seen(env, following)) if has_critic else 0.0 * reward
    if lookahead is None:
        outcome = rl.lambda_return(
            reward, after, terminated, truncated, t, discount=discount, trace=1.0
        )
    else:
        outcome = rl.n_step_return(
            reward, after, terminated, truncated, t, lookahead, discount=discount
        )
    outcome = ot.stop_gradient(outcome)
    gain = outcome - ot.stop_gradient(value) if baseline else outcome
    if normalise_gain:
        every = rl.across(gain, b, t)
        gain = (gain - every.mean()) / (every.std() + 1e-8)

    # loss = -E[A log pi(a)] - c_e E[H(pi)] + E[(G - V)**2]
    policy = actor(seen)
    policy_loss = -rl.averaged(policy.log_prob(action) * gain, b, t)
    variety = rl.averaged(policy.entropy(), b, t)
    optim.Adam(learning_rate).minimize(policy_loss - entropy * variety, actor.parameters)
    told = {"policy_loss": policy_loss, "entropy": variety}
    if has_critic:
        told["value_loss"] = rl.averaged((outcome - value) ** 2, b, t)
        optim.Adam(learning_rate).minimize(told["value_loss"], critic.parameters)

    told["episode_return"] = reward.at(t=slice(None)).sum(0).at(b=slice(None)).mean()
    told["episodes"] = ot.index(b.size) + 0 * ot.index(i)
    told["episode_length"] = ot.length(t).at(b=slice(None)).mean()
    return rl.Training(
        program=ot.Program(**{name: rl.along(x, each) for name, x in told.items()}), over=i,
        policy=actor, arguments={"B": episodes, "I": iterations, "T": steps},
        steps_per_record=episodes * steps,
        networks={"actor": actor, **({"critic": critic} if has_critic else {})},
        tensors={"observation": seen, "action": action, "reward": reward, "outcome": outcome},
    )  # fmt: skip
