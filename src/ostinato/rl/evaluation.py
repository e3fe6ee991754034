"""Whole episodes of a policy: what each of them returns, and what happened in one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from ostinato.compiler.program import Program
from ostinato.language.dims import Dimension, dims
from ostinato.language.kinds import Count, Natural
from ostinato.language.record import Record
from ostinato.language.recurrent import recurrent
from ostinato.language.shown import shown
from ostinato.language.stop import length, stop
from ostinato.language.tensor import Tensor
from ostinato.nn.module import Module
from ostinato.pdg.build import order
from ostinato.pdg.errors import ArgumentError, OstinatoError, guess
from ostinato.pdg.functions import Array
from ostinato.provenance.place import place
from ostinato.rl.acting import chosen, remembered
from ostinato.rl.agent import Training
from ostinato.rl.drawing.canvas import Picture
from ostinato.rl.drawing.film import frames
from ostinato.rl.environments.environment import Actions, Env, stepped
from ostinato.rl.gymnasium.played_outside import Gymnasium
from ostinato.rl.player import Player
from ostinato.rl.rollout import allowed, seen

MAX_STEPS = 100_000  # of an episode that does not end by itself
MAX_FRAMES = 1000  # of a film


@dataclass(frozen=True)
class Episodes:
    """What episodes came to: each ended, or was left after the most steps that were asked for.

    Shapes: (..., episodes), along the dimensions of independent trainings first.
    """

    returns: npt.NDArray[np.float64]
    lengths: npt.NDArray[np.int64]
    ended: npt.NDArray[np.bool_]

    @property
    def mean_return(self) -> float:
        """The mean of all returns."""
        return float(self.returns.mean())

    @property
    def std_return(self) -> float:
        """The standard deviation of all returns, that of these episodes themselves."""
        return float(self.returns.std())


def learnt(training: Training, **changes: object) -> dict[str, Array]:
    """Run a training to its end, and return the weights of its policy as PyTorch has them.

    The changes are arguments in the place of the training's, such as ``seed=3`` or ``I=10``.
    Errors: ArgumentError for another name.

    >>> from ostinato import rl
    >>> weights = rl.learnt(rl.a2c(rl.CartPole(), hidden=[8]), I=5)
    >>> list(weights)
    ['body.0.weight', 'body.0.bias', 'body.2.weight', 'body.2.bias']
    """
    known = {*training.program.inputs, *training.program.extents, "seed"}
    strange = sorted(changes.keys() - known)
    if strange:
        remedy = f"{guess(strange[0], known)}It takes: {', '.join(sorted(known))}."
        raise ArgumentError(f"the training has no argument `{strange[0]}`", remedy, place())
    program = Program(**training.policy.final.state_dict())
    return _run(program, {"seed": training.seed, **training.arguments, **changes})


def _run(program: Program, arguments: Mapping[str, object]) -> dict[str, Array]:
    """The outputs of a program for those arguments that it takes."""
    takes = {*program.inputs, *program.extents, "seed"}
    given = {name: x for name, x in arguments.items() if name in takes}
    try:
        extents = program.signature.bind(given).extents
        return dict(program.compile(extents=extents)(**given))
    except OstinatoError as error:
        raise error.at(place()) from error.__cause__


def evaluate(
    env: Env[Actions],
    policy: Module,
    weights: Mapping[str, object],
    *,
    episodes: Count = 100,
    greedy: bool = True,
    seed: Natural = 0,
    max_steps: Count = MAX_STEPS,
) -> Episodes:
    """Play so many episodes from their start to their end, all at once.

    The policy takes the action that its distribution says is best, or if not ``greedy`` draws one.
    The weights are those of `Module.state_dict`. Along the dimensions of independent trainings
    each has episodes of its own.

    Errors: ArgumentError for weights that do not fit.

    >>> from ostinato import rl
    >>> env = rl.CartPole()
    >>> training = rl.a2c(env, iterations=20)
    >>> weights = rl.learnt(training, seed=1)
    >>> played = rl.evaluate(env, training.policy, weights, episodes=5)
    >>> played.returns.shape, bool((played.returns == played.lengths).all())
    ((5,), True)
    """
    if isinstance(env, Gymnasium):
        player = Player(env, policy, weights, greedy=greedy, seed=seed)
        return _outside(env, player, episodes, seed, max_steps)
    b, t = dims("episode step")
    games = _games(env, policy.as_inputs(), b, t, greedy)
    program = Program(
        returns=games.reward.at(step=slice(None)).sum(0),
        lengths=length(t),
        ended=games.done.at(step=length(t) - 1),
    )
    sizes = {"EPISODE": episodes, "STEP": max_steps, "seed": seed}
    found = _run(program, {**policy.arguments(weights), **sizes})
    return Episodes(found["returns"], found["lengths"].astype(np.int64), found["ended"])


def _outside(env: Gymnasium, player: Player, episodes: int, seed: int, most: int) -> Episodes:
    """Episodes of Gymnasium, one after the other; the first begins with the seed."""
    returns, lengths, ended = np.zeros(episodes), np.zeros(episodes, np.int64), [False] * episodes
    with env.alone() as game:
        for k in range(episodes):
            seen = game.reset(seed=None if k else seed)[0]
            player.forget()
            while lengths[k] < most and not ended[k]:
                seen, reward, *ends, _ = game.step(_said(env, player(seen)))
                returns[k] += reward
                lengths[k] += 1
                ended[k] = any(ends)
    return Episodes(returns, lengths, np.array(ended))


def _said(env: Gymnasium, action: Array) -> object:
    """One action as Gymnasium has it."""
    return env.to_theirs(np.asarray(action)[None])[0]


def filmed(
    env: Env[Actions],
    policy: Module,
    weights: Mapping[str, object],
    *,
    greedy: bool = True,
    seed: Natural = 0,
    max_steps: Count = MAX_FRAMES,
) -> list[Picture]:
    """Return the pictures of one episode, from its start to the one after its last step.

    Errors: ArgumentError for weights that do not fit, and an environment without a picture;
    OptionError without Pillow.
    """
    if not isinstance(env, Gymnasium):
        states = recorded(env, policy, weights, greedy=greedy, seed=seed, max_steps=max_steps)
        return frames(env, states)
    player = Player(env, policy, weights, greedy=greedy, seed=seed)
    pictures: list[Picture] = []
    with env.alone(render_mode="rgb_array") as game:
        seen, ended = game.reset(seed=seed)[0], False
        pictures.append(_picture(env, game))
        while len(pictures) <= max_steps and not ended:
            seen, _, *ends, _ = game.step(_said(env, player(seen)))
            pictures.append(_picture(env, game))
            ended = any(ends)
    return pictures


def _picture(env: Gymnasium, game: Any) -> Picture:
    """What Gymnasium draws.

    Errors: ArgumentError if it draws nothing.
    """
    try:
        found: Any = game.render()
    except Exception as failure:
        raise _no_picture(env, f"{type(failure).__name__}: {failure}") from failure
    if not isinstance(found, np.ndarray):
        raise _no_picture(env, f"render gives {shown(found)}")
    return cast(Picture, found)


def _no_picture(env: Gymnasium, why: str) -> ArgumentError:
    remedy = 'Install what it draws with, or give an environment with render_mode="rgb_array".'
    return ArgumentError(f"`{env.name}` has no picture: {why}", remedy, place())


def recorded(
    env: Env[Actions],
    policy: Module,
    weights: Mapping[str, object],
    *,
    greedy: bool = True,
    seed: Natural = 0,
    max_steps: Count = MAX_FRAMES,
) -> list[dict[str, Array]]:
    """Return the states of one episode, from the first to the one after its last step.

    Of several trainings it is one of the first.

    Errors: ArgumentError for weights that do not fit.
    """
    b, t = dims("episode step")
    games = _games(env, policy.as_inputs(), b, t, greedy)
    after = recurrent("after", like=games.state, over=games.over)
    after[True] = games.following
    states = {f"before_{name}": x for name, x in games.state.fields.items()}
    states |= {f"after_{name}": x for name, x in after.fields.items()}
    sizes = {"EPISODE": 1, "STEP": max_steps, "seed": seed}
    found = _run(Program(**states, lengths=length(t)), {**policy.arguments(weights), **sizes})
    first = (0,) * (len(games.over) - 1)  # of several trainings too
    count, kinds = int(found["lengths"][first]), {n: x.dtype for n, x in after.fields.items()}

    def at(when: str, k: int) -> dict[str, Array]:
        """A step, in the types of the state: behind its end a truth is filled with a 0."""
        return {n: found[f"{when}_{n}"][first][k].astype(kind) for n, kind in kinds.items()}

    return [*(at("before", k) for k in range(count)), at("after", count - 1)]


@dataclass(frozen=True, slots=True)
class _Games:
    state: Record
    following: Record
    reward: Tensor
    done: Tensor
    over: tuple[Dimension, ...]


def _games(env: Env[Actions], policy: Module, b: Dimension, t: Dimension, greedy: bool) -> _Games:
    """An episode at every point of ``b``, which ends ``t``."""
    each = order({dim for w in policy.named_weights() for dim in w.tensor.over})
    games = (*map(Dimension, each), b)
    over, first = (*games, t), env.reset(over=games)
    state = recurrent("state", like=env.state, over=over)
    nothing = remembered(policy)
    memory = recurrent("memory", like=nothing, over=over)
    action, after = chosen(policy, seen(env, state), memory, greedy=greedy)
    memory[(*games, 0)], memory[(*games, t + 1)] = nothing, after
    following, reward, terminated, truncated = stepped(env, state, allowed(env, action))
    done = terminated | truncated
    state[(*games, 0)], state[(*games, t + 1)] = first, following
    stop(t, when=done)
    return _Games(state, following, reward.cast("float64"), done, over)
