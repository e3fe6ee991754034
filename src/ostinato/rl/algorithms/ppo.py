"""Proximal policy optimisation: several epochs of minibatches of what was just played."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import ostinato as ot
from ostinato import optim, rl
from ostinato.language.carry import Carried
from ostinato.language.kinds import Count, Limit, NonNegative, Positive, Probability
from ostinato.language.recurrent import Over
from ostinato.pdg.errors import ArgumentError
from ostinato.provenance.place import place
from ostinato.rl.agent import trained
from ostinato.rl.environments.environment import takes_turns

Number = ot.Tensor | float


def ppo(
    env: rl.Env[rl.Actions], *, games: Count = 8, steps: Count = 128, iterations: Count = 100,
    epochs: Count = 4, minibatches: Count = 4, hidden: Sequence[Count] = (64, 64),
    activation: str = "tanh", learning_rate: ot.Tensor | NonNegative = 1e-3, anneal: bool = True,
    discount: ot.Tensor | Probability = 0.99, trace: ot.Tensor | Probability = 0.95,
    clip: ot.Tensor | Positive = 0.2, clip_value: bool = False,
    entropy: ot.Tensor | NonNegative = 0.01, value_weight: ot.Tensor | NonNegative = 0.5,
    norm: ot.Tensor | Limit = 0.5, kl_limit: ot.Tensor | Limit | None = None,
    normalise_advantage: bool = True, normalise_observation: bool = False,
    normalise_reward: bool = False, over: Over = (),
) -> rl.Training:  # fmt: skip
    """Clipped policy gradients: ``epochs`` of shuffled ``minibatches`` of every iteration's steps.

    Where an episode is cut, and at the last step, the critic says what would have followed. Once a
    minibatch has diverged by more than ``kl_limit`` nats an iteration makes no more updates. Where
    two players take turns, a later step is worth to one what it costs the other: both learn.
    Source: Schulman et al. 2017, Proximal policy optimization algorithms; Huang et al. 2022, The 37
    implementation details of proximal policy optimization.
    Errors: ArgumentError for more minibatches than there are steps to learn from.

    >>> from ostinato import rl
    >>> training = rl.ppo(rl.CartPole(), games=16, steps=32, iterations=50)
    >>> training.train(seed=1)["episode_return"].shape
    (50,)
    """
    _check(games * steps, minibatches)
    (b, i, e, t), m = ot.dims("b i e t"), ot.dim("m", size=minibatches)
    settings = learning_rate, discount, trace, clip, entropy, value_weight, norm, kl_limit
    updates = ot.carried(i, e, m, each=(each := rl.trainings(over, *settings)))
    actor = rl.Actor(env, hidden, updates, activation=activation)
    critic = rl.Critic(env, hidden, updates, activation=activation)
    acting, judging = actor.at(e=0, m=0), critic.at(e=0, m=0)
    seen = rl.Moments(rl.observed(env), i, each=each) if normalise_observation else None
    played = rl.rollout(env, lambda x: acting(x).sample(), (b, i, t), each=each, moments=seen)
    reward = rl.scaled_reward(played, discount, each=each) if normalise_reward else played.reward
    before = judged(played, reward, judging, -discount if takes_turns(env) else discount, trace)
    rows = rl.minibatch((b, t), m, minibatches, over=(*each, i, e))
    x = {name: tensor.at(**rows) for name, tensor in before.items()}
    policy, value = actor(x["observation"]), critic(x["observation"])
    told = losses(policy, value, x, clip, clip_value, normalise_advantage)
    loss = told["policy_loss"] + value_weight * told["value_loss"] - entropy * told["entropy"]
    rate = learning_rate * (1.0 - i / i.size) if anneal else learning_rate
    optimizer = held(optim.Clipped(optim.Adam(rate, eps=1e-5), norm=norm), told, kl_limit, updates)
    optimizer.minimize(loss, (*actor.parameters, *critic.parameters))
    last = {name: tensor.at(e=-1, m=-1) for name, tensor in told.items()}
    return trained(
        played, actor if seen is None else rl.Normalised(actor, seen), last, each=each,
        networks={"actor": actor, "critic": critic}, B=games, I=iterations, T=steps, E=epochs,
        tensors={**before, **{f"rows_{name}": at for name, at in rows.items()}, "loss": loss},
    )  # fmt: skip


def judged(
    played: rl.Rollout, reward: ot.Tensor, critic: rl.Critic, discount: Number, trace: Number
) -> dict[str, ot.Tensor]:
    """Return what an update needs to know of every step, before any update of its iteration."""
    value = critic(played.observation)
    advantage = rl.advantage(
        reward, value, critic(played.following), played.terminated, played.truncated,
        played.dims[2], discount=discount, trace=trace,
    )  # fmt: skip
    return {
        "observation": played.observation, "action": played.action,
        "log_prob": rl.log_prob(played.action), "value": value, "advantage": advantage,
    }  # fmt: skip


def losses(
    policy: rl.Distribution, value: ot.Tensor, rows: Mapping[str, ot.Tensor], clip: Number,
    clip_value: bool = False, normalise: bool = True,
) -> dict[str, ot.Tensor]:  # fmt: skip
    """Return -E[min(r A, clip(r) A)] with r = pi / pi_before, E[(G - V)**2], E[H] and E[KL]."""
    gain, old = rows["advantage"], rows["value"]
    target = gain + old
    if normalise:
        gain = (gain - gain.mean()) / (gain.std() + 1e-8)
    log_ratio = policy.log_prob(rows["action"]) - rows["log_prob"]
    ratio = ot.exp(log_ratio)
    kept = ot.minimum(ratio * gain, ot.clip(ratio, 1.0 - clip, 1.0 + clip) * gain)
    error = (value - target) ** 2
    if clip_value:
        error = ot.maximum(error, (old + ot.clip(value - old, -clip, clip) - target) ** 2)
    return {
        "policy_loss": -kept.mean(), "value_loss": error.mean(),
        "entropy": policy.entropy().mean(), "divergence": (ratio - 1.0 - log_ratio).mean(),
    }  # fmt: skip


def held(
    optimizer: optim.Optimizer,
    told: Mapping[str, ot.Tensor],
    limit: Number | None,
    updates: Carried,
) -> optim.Optimizer:
    """Return an optimizer that rests while an iteration has diverged by more than a limit."""
    if limit is None:
        return optimizer
    return optim.Masked(optimizer, near(told["divergence"], limit, updates))


def _check(steps: int, minibatches: int) -> None:
    """Refuse minibatches of nothing."""
    if minibatches > steps:
        fact = f"`ppo` learns from {minibatches} minibatches of {steps} steps"
        raise ArgumentError(fact, "Give fewer minibatches, or more games or steps.", place())


def near(divergence: ot.Tensor, limit: Number, updates: Carried) -> ot.Tensor:
    """Return whether no minibatch of an iteration has diverged by more than a limit so far."""
    _, e, m = updates.dims
    before = ot.carry("near", ot.constant(True), over=updates)
    now = before & (divergence <= limit)
    before.step(ot.where((e == e.size - 1) & (m == m.size - 1), True, now))
    return now
