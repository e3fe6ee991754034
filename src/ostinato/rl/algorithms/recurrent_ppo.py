"""Proximal policy optimisation with a memory: for agents that do not see all that matters."""

from __future__ import annotations

from collections.abc import Sequence

import ostinato as ot
from ostinato import nn, optim, rl
from ostinato.language.kinds import Count, Limit, NonNegative, Positive, Probability
from ostinato.language.recurrent import Over
from ostinato.pdg.errors import ArgumentError
from ostinato.provenance.place import place
from ostinato.rl.agent import trained
from ostinato.rl.algorithms.ppo import losses
from ostinato.rl.environments.environment import plays_alone


def recurrent_ppo(
    env: rl.Env[rl.Actions], *, games: Count = 8, steps: Count = 128, iterations: Count = 100,
    epochs: Count = 20, minibatches: Count = 4, lstm: bool = False, memory: Count = 32,
    hidden: Sequence[Count] = (32,), learning_rate: ot.Tensor | NonNegative = 1e-3,
    anneal: bool = True, discount: ot.Tensor | Probability = 0.98,
    trace: ot.Tensor | Probability = 0.8, clip: ot.Tensor | Positive = 0.2,
    entropy: ot.Tensor | NonNegative = 0.0, value_weight: ot.Tensor | NonNegative = 0.5,
    norm: ot.Tensor | Limit = 0.5, normalise_observation: bool = True, over: Over = (),
) -> rl.Training:  # fmt: skip
    """Clipped policy gradients through time, of a cell that remembers an episode.

    A minibatch is all steps of some games. What was remembered goes on into the next iteration;
    updates start from it, and gradients end there. Otherwise as `ppo`, with the same sources.

    Errors: ArgumentError for games that the minibatches do not divide.

    >>> from ostinato import rl
    >>> training = rl.recurrent_ppo(rl.make("MaskedCartPole"), games=16, steps=16, iterations=10)
    >>> training.train(seed=1)["episode_return"].shape
    (10,)
    """
    plays_alone(env, "`recurrent_ppo`")
    _check(games, minibatches)
    (b, i, e, t), m = ot.dims("b i e t"), ot.dim("m", size=minibatches)
    each = rl.trainings(over, learning_rate, discount, trace, clip, entropy, value_weight, norm)
    agent = rl.Remembering(env, memory, hidden, ot.carried(i, e, m, each=each), lstm=lstm)
    seen = rl.Moments(rl.observed(env), i, each=each) if normalise_observation else None
    played, start, before = remembered(
        env, agent.at(e=0, m=0), (b, i, t), each, seen, discount, trace
    )
    rows = rl.minibatch((b,), m, minibatches, over=(*each, i, e))
    x = {name: tensor.at(**rows) for name, tensor in before.items()}
    begins = ot.where(t == 0, False, played.done.at(t=t - 1)).at(**rows)
    states = nn.unroll(
        agent.remember, x["observation"], t, start.map(lambda field: field.at(**rows)),
        reset=begins[..., None], fresh=agent.nothing, name="remembered_again",
    ).map(lambda field: rl.across(field, t))  # fmt: skip
    x = {name: rl.across(tensor, t) for name, tensor in x.items()}
    told = losses(agent.policy(states), agent.value(states), x, clip)
    loss = told["policy_loss"] + value_weight * told["value_loss"] - entropy * told["entropy"]
    rate = learning_rate * (1.0 - i / i.size) if anneal else learning_rate
    optim.Clipped(optim.Adam(rate, eps=1e-5), norm=norm).minimize(loss, agent.parameters)
    last = {name: tensor.at(e=-1, m=-1) for name, tensor in told.items()}
    policy = agent if seen is None else rl.NormalisedRemembering(agent, seen)
    return trained(
        played, policy, last, each=each, networks={"agent": agent},
        tensors={**before, "divergence": told["divergence"], "loss": loss},
        B=games, I=iterations, T=steps, E=epochs,
    )  # fmt: skip


def remembered(
    env: rl.Env[rl.Actions], agent: rl.Remembering,
    dims: tuple[ot.Dimension, ot.Dimension, ot.Dimension], each: Sequence[ot.Dimension],
    seen: rl.Moments | None, discount: ot.Tensor | float, trace: ot.Tensor | float,
) -> tuple[rl.Rollout, ot.Record, dict[str, ot.Tensor]]:  # fmt: skip
    """Return what was played, the memories at the first steps, and what an update needs to know."""
    b, i, t = dims
    memory = ot.carry("remembered", agent.nothing, over=(i, t), each=(*each, b))

    def act(observation: ot.Tensor) -> ot.Tensor:
        return agent.policy(agent.remember(observation, memory)).sample()

    played = rl.rollout(env, act, dims, each=each, moments=seen)
    after = agent.remember(played.observation, memory)
    memory.step(ot.where(played.done, agent.nothing, after))
    value, following = agent.value(after), agent.remember(played.following, after)
    advantage = rl.advantage(
        played.reward, value, agent.value(following), played.terminated, played.truncated, t,
        discount=discount, trace=trace,
    )  # fmt: skip
    before = {
        "observation": played.observation, "action": played.action, "value": value,
        "log_prob": rl.log_prob(played.action), "advantage": advantage,
    }  # fmt: skip
    return played, memory.map(lambda field: field.at(t=0)), before


def _check(games: int, minibatches: int) -> None:
    if games % minibatches:
        fact = f"`recurrent_ppo` learns from {minibatches} minibatches of {games} games"
        raise ArgumentError(fact, "Give games that the minibatches divide.", place())
