"""Right arguments and objects for what learns: agents, replay, algorithms."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import ostinato as ot
from ostinato import rl


@cache
def played() -> rl.Rollout:
    """Games that were played; always the same, so that their dimensions are."""
    b, i, t = ot.dims("b i t")
    return rl.rollout(rl.CartPole(), lambda seen: ot.constant(0), (b, i, t))


def replay() -> rl.Replay:
    games = played()
    return rl.Replay(games.dims, 3, window=2, over=games.dims[1], ahead=3)


@cache
def prioritised() -> rl.PrioritisedReplay:
    dims = played().dims
    loops = ot.carried(dims[1], ot.dim("update", size=2))
    return rl.PrioritisedReplay(dims, 3, window=2, updates=loops)


def remembering() -> rl.Remembering:
    return rl.Remembering(rl.CartPole(), 3, (3,))


REAL = ("ActionCritic", "SquashedActor", "DeterministicActor")
NETWORKS = ("ActionCritic", "ActionValues", "SquashedActor", "DeterministicActor", "Remembering")
SEEING = ("ActionValues.__call__", "Greedy.__call__", "Normalised.__call__", "Remembering.remember")
OF_AGENTS: dict[str, Callable[[Any], object]] = {
    **{
        f"{name}.env": lambda s: rl.Pendulum() for name in (*REAL, "rl.sac", "rl.td3", "sac", "td3")
    },
    **{f"{name}.hidden": lambda s: (3,) for name in NETWORKS},
    **{f"{name}.__call__.observation": lambda s: ot.zeros(3) for name in REAL},
    **{f"{name}.observation": lambda s: ot.zeros(4) for name in SEEING},
    **{
        f"Remembering.{method}.memory": lambda s: remembering().nothing
        for method in ("remember", "policy", "value")
    },
    "ActionCritic.__call__.action": lambda s: ot.zeros(1),
    "Greedy.values": lambda s: rl.ActionValues(rl.CartPole(), (3,)),
    "NormalisedRemembering.network": lambda s: remembering(),
    "NormalisedRemembering.moments": lambda s: rl.Moments(4, s.i),
    **{
        f"NormalisedRemembering.{n}.memory": lambda s: remembering().nothing
        for n in ("remember", "policy")
    },
    "NormalisedRemembering.remember.observation": lambda s: ot.zeros(4),
    "Moments.i": lambda s: s.i,
    "Moments.__call__.x": lambda s: ot.zeros(4),
    "Moments.learn.x": lambda s: ot.zeros(4) + ot.index(s.t),
    "Moments.learn.dims": lambda s: s.t,
    "Normalised.network": lambda s: rl.Actor(rl.CartPole(), (3,)),
    "Normalised.moments": lambda s: rl.Moments(4, s.i),
    "Replay.dims": lambda s: played().dims,
    "Replay.over": lambda s: played().dims[1],
    "Replay.window": lambda s: 2,
    "Replay.__call__.x": lambda s: played().reward,
    "PrioritisedReplay.dims": lambda s: played().dims,
    "PrioritisedReplay.window": lambda s: 2,
    "PrioritisedReplay.updates": lambda s: ot.carried(played().dims[1], ot.dims("m")),
    "PrioritisedReplay.__call__.x": lambda s: played().reward,
    "PrioritisedReplay.learn.error": lambda s: ot.zeros(3),
    "PrioritisedReplay.weights.correction": lambda s: 0.5,
    "rl.averaged.dims": lambda s: s.t,
    "averaged.dims": lambda s: s.t,
    "exploring.action": lambda s: ot.constant(1),
    "exploring.rate": lambda s: 0.5,
    "rl.exploring.action": lambda s: ot.constant(1),
    "rl.exploring.rate": lambda s: 0.5,
    "rl.minibatch.dims": lambda s: (s.t,),
    "rl.minibatch.part": lambda s: ot.dim("part", size=3),
    "rl.replayed_return.replay": lambda s: replay(),
    "rl.replayed_return.games": lambda s: played(),
    "rl.scaled_reward.discount": lambda s: 0.9,
    "rl.seen.state": lambda s: rl.CartPole().state,
    "rl.allowed.action": lambda s: ot.constant(1),
}
AGENTS: dict[str, Callable[[Any], object]] = {
    "ActionCritic": lambda s: rl.ActionCritic(rl.Pendulum(), (3,)),
    "ActionValues": lambda s: rl.ActionValues(rl.CartPole(), (3,)),
    "DeterministicActor": lambda s: rl.DeterministicActor(rl.Pendulum(), (3,)),
    "Greedy": lambda s: rl.Greedy(rl.ActionValues(rl.CartPole(), (3,))),
    "Moments": lambda s: rl.Moments(4, s.i),
    "Normalised": lambda s: rl.Normalised(rl.Actor(rl.CartPole(), (3,)), rl.Moments(4, s.i)),
    "Remembering": lambda s: remembering(),
    "NormalisedRemembering": lambda s: rl.NormalisedRemembering(remembering(), rl.Moments(4, s.i)),
    "PrioritisedReplay": lambda s: prioritised(),
    "Replay": lambda s: replay(),
    "SquashedActor": lambda s: rl.SquashedActor(rl.Pendulum(), (3,)),
}
