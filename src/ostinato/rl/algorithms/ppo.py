"""Proximal policy optimisation: several epochs of minibatches of what was just played."""

from __future__ import annotations

from collections.abc import Sequence

import ostinato as ot
from ostinato import optim, rl
from ostinato.language.carry import Carried
from ostinato.language.kinds import Count, Limit, NonNegative, Positive, Probability
from ostinato.language.recurrent import Over


def ppo(
    env: rl.Env[rl.Actions], *, games: Count = 8, steps: Count = 128, iterations: Count = 100,
    epochs: Count = 4, minibatches: Count = 4, hidden: Sequence[Count] = (64, 64),
    learning_rate: ot.Tensor | NonNegative = 1e-3, anneal: bool = True,
    discount: ot.Tensor | Probability = 0.99, trace: ot.Tensor | Probability = 0.95,
    clip: ot.Tensor | Positive = 0.2, clip_value: bool = False,
    entropy: ot.Tensor | NonNegative = 0.01, value_weight: ot.Tensor | NonNegative = 0.5,
    norm: ot.Tensor | Limit = 0.5, kl_limit: ot.Tensor | Limit | None = None,
    normalise_advantage: bool = True, normalise_observation: bool = False,
    normalise_reward: bool = False, over: Over = (),
) -> rl.Training:  # fmt: skip
    """Clipped policy gradients.

    Every iteration ``i`` plays ``t`` steps of ``b`` games. Every epoch ``e`` takes them in another
    random order, in minibatches ``m``. Where an episode is cut, and at the last step, the critic
    says what would have followed. With ``clip_value`` the critic may move by ``clip`` in an
    iteration; once a minibatch has diverged from the policy that played by more than ``kl_limit``,
    in nats, the iteration makes no more updates.

    Source: Schulman et al. 2017, Proximal policy optimization algorithms; Huang et al. 2022, The 37
    implementation details of proximal policy optimization.

    >>> from ostinato import rl
    >>> training = rl.ppo(rl.CartPole(), games=4, steps=32, iterations=50)
    >>> training.train(seed=1)["episode_return"].shape
    (50,)
    """
    b, i, e, t = ot.dims("b i e t")
    m = ot.dim("m", size=minibatches)
    each = rl.trainings(
        over, learning_rate, discount, trace, clip, entropy, value_weight, norm, kl_limit
    )
    updates = ot.carried(i, e, m, each=each)
    actor, critic = rl.Actor(env, hidden, updates), rl.Critic(env, hidden, updates)
    acting, judging = actor.at(e=0, m=0), critic.at(e=0, m=0)
    seen_as = rl.Moments(rl.observed(env), i, each=each) if normalise_observation else None

    def sees(observation: ot.Tensor) -> ot.Tensor:
        return observation if seen_as is None else seen_as(observation)

    # What happened, and how much better than expected it was.
    played = rl.rollout(env, lambda seen: acting(sees(seen)).sample(), (b, i, t), each=each)
    if seen_as is not None:
        seen_as.learn(played.observation, b, t)
    reward = rl.scaled_reward(played, discount, each=each) if normalise_reward else played.reward
    seen = sees(played.observation)
    value = judging(seen)
    advantage = rl.advantage(
        reward, value, judging(sees(played.following)), played.terminated, played.truncated, t,
        discount=discount, trace=trace,
    )  # fmt: skip

    # The rows of one minibatch.
    rows = rl.minibatch((b, t), m, minibatches, over=(*each, i, e))
    x, action, before = (y.at(**rows) for y in (seen, played.action, rl.log_prob(played.action)))
    old, gain = value.at(**rows), advantage.at(**rows)
    target = gain + old
    if normalise_advantage:
        gain = (gain - gain.mean()) / (gain.std() + 1e-8)

    # loss = -E[min(r A, clip(r) A)] + c_v E[(G - V)**2] - c_e E[H(pi)], with r = pi / pi_before
    policy, new = actor(x), critic(x)
    log_ratio = policy.log_prob(action) - before
    ratio = ot.exp(log_ratio)
    policy_loss = -ot.minimum(ratio * gain, ot.clip(ratio, 1.0 - clip, 1.0 + clip) * gain).mean()
    error = (new - target) ** 2
    if clip_value:
        error = ot.maximum(error, (old + ot.clip(new - old, -clip, clip) - target) ** 2)
    value_loss, variety = error.mean(), policy.entropy().mean()
    loss = policy_loss + value_weight * value_loss - entropy * variety
    divergence = (ratio - 1.0 - log_ratio).mean()

    rate = learning_rate * (1.0 - i / i.size) if anneal else learning_rate
    optimizer: optim.Optimizer = optim.Clipped(optim.Adam(rate, eps=1e-5), norm=norm)
    if kl_limit is not None:
        optimizer = optim.Masked(optimizer, _near(divergence, kl_limit, updates))
    optimizer.minimize(loss, (*actor.parameters, *critic.parameters))

    told = {"policy_loss": policy_loss, "value_loss": value_loss, "entropy": variety}
    last = {name: x.at(e=-1, m=-1) for name, x in {**told, "divergence": divergence}.items()}
    return rl.Training(
        program=ot.Program(**rl.finished(played, each=each, **last)), over=i,
        policy=actor if seen_as is None else rl.Normalised(actor, seen_as),
        arguments={"B": games, "I": iterations, "T": steps, "E": epochs},
        steps_per_record=games * steps, networks={"actor": actor, "critic": critic},
        tensors={
            **played.tensors, "log_prob": rl.log_prob(played.action), "value": value,
            "advantage": advantage, "loss": loss,
            **{f"rows_{name}": x for name, x in rows.items()},
        },
    )  # fmt: skip


def _near(divergence: ot.Tensor, limit: ot.Tensor | float, updates: Carried) -> ot.Tensor:
    """Whether no minibatch of an iteration has diverged by more than a limit so far."""
    _, e, m = updates.dims
    before = ot.carry("near", ot.constant(True), over=updates)
    now = before & (divergence <= limit)
    before.step(ot.where((e == e.size - 1) & (m == m.size - 1), True, now))
    return now
