"""Games that go on: what happened at every step, and the episodes that ended on the way."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import prod

from ostinato.language import random
from ostinato.language.carry import carry
from ostinato.language.dims import Dimension
from ostinato.language.functions.basic import clip, maximum, where
from ostinato.language.kinds import Count, Probability
from ostinato.language.record import Record
from ostinato.language.recurrent import Over, as_dims
from ostinato.language.tensor import Tensor
from ostinato.pdg.build import order
from ostinato.pdg.errors import ArgumentError
from ostinato.provenance.place import place
from ostinato.rl.environments.environment import (
    Actions,
    Box,
    Env,
    LimitsActions,
    everywhere,
    points,
    restarted,
    stepped,
)
from ostinato.rl.moments import Moments


@dataclass(frozen=True, slots=True)
class Rollout:
    """What happened at every step ``t`` of iteration ``i`` in every game ``b``.

    ``following`` is what the agent saw after a step, before any reset; ``earned`` and ``steps`` are
    the return and the length of the episode up to and with this step.
    """

    observation: Tensor
    action: Tensor
    reward: Tensor
    terminated: Tensor
    truncated: Tensor
    following: Tensor
    earned: Tensor
    steps: Tensor
    dims: tuple[Dimension, Dimension, Dimension]  # b, i, t

    @property
    def done(self) -> Tensor:
        """Whether an episode ended with a step; the next one begins a step later."""
        return self.terminated | self.truncated

    @property
    def tensors(self) -> dict[str, Tensor]:
        """What happened, by name."""
        names = ("observation", "action", "reward", "terminated", "truncated", "following")
        return {name: getattr(self, name) for name in names}


def rollout(
    env: Env[Actions],
    act: Callable[[Tensor], Tensor],
    dims: tuple[Dimension, Dimension, Dimension],
    *,
    each: Over = (),
    moments: Moments | None = None,
) -> Rollout:
    """Play ``b`` games, ``t`` steps in every iteration ``i``; each goes on where it was left.

    Where an episode ends the game starts again. ``act`` gives an action for what an agent sees, a
    vector of float32 numbers: images are flattened. Real actions are clipped to what the
    environment allows; the action of the rollout is the one before that. Along ``each`` everything
    is played independently. With ``moments`` what an agent sees is scaled by them, and they learn
    of what was seen.

    Errors: ArgumentError for moments where what is seen says which actions are legal.

    >>> import ostinato as ot
    >>> from ostinato import rl
    >>> b, i, t = ot.dims("b i t")
    >>> def act(observation: ot.Tensor) -> ot.Tensor:
    ...     return (observation[..., 2] > 0).cast("int32")
    >>> games = rl.rollout(rl.CartPole(), act, (b, i, t))
    >>> lengths = ot.where(games.done, games.steps, 0)
    >>> found = ot.Program(longest=lengths[:, :, :].max()).compile()(B=8, I=3, T=50)
    >>> bool(found["longest"] > 30)
    True
    """
    if moments is not None and isinstance(env, LimitsActions):
        fact = "scaled observations do not show which actions are legal"
        raise ArgumentError(fact, "Leave out `normalise_observation`, or `moments`.", place())
    b, i, t = dims
    games = (*_dims(each), b)
    state = carry("state", env.reset(over=games), over=(i, t), each=games)
    raw = seen(env, state)
    observation = raw if moments is None else moments(raw)
    if moments is not None:
        moments.learn(raw, b, t)
    action = act(observation)
    following, reward, terminated, truncated = stepped(env, state, allowed(env, action))
    done, reward = terminated | truncated, reward.cast("float32")
    state.step(where(done, restarted(env, following, (*games, i, t)), following))
    earned, steps = _so_far(reward, done, (i, t), games)
    after = everywhere(seen(env, following), points(state, action))
    after = after if moments is None else moments(after)
    return Rollout(observation, action, reward, terminated, truncated, after, earned, steps, dims)


def seen(env: Env[Actions], state: Record) -> Tensor:
    """Return what an agent sees in a state as a vector of float32 numbers."""
    observation = everywhere(env.observe(state).cast("float32"), points(state))
    return observation if observation.ndim == 1 else observation.reshape((observed(env),))


def observed(env: Env[Actions]) -> int:
    """Return of how many numbers an observation is."""
    return prod(env.observation_shape)


def allowed(env: Env[Actions], action: Tensor) -> Tensor:
    """Return an action inside of the bounds of an environment."""
    actions = env.actions
    return clip(action, actions.low, actions.high) if isinstance(actions, Box) else action


def _so_far(
    reward: Tensor, done: Tensor, over: Sequence[Dimension], games: Sequence[Dimension]
) -> tuple[Tensor, Tensor]:
    """The return and the length of the episode that a step belongs to, up to this step."""
    before = carry("earned", 0.0, over=over, each=games)
    count = carry("length", 0, over=over, each=games)
    earned, steps = before + reward, count + 1
    before.step(where(done, 0.0, earned))
    count.step(where(done, 0, steps))
    return earned, steps


def finished(games: Rollout, *, each: Over = (), **others: Tensor) -> dict[str, Tensor]:
    """Return the means over the episodes that ended in an iteration, and how many these are.

    They are `episode_return`, `episode_length` and `episodes`, over the iterations, and with them
    whatever else is to be told of an iteration; along ``each`` all have axes. Where no episode
    ended the means are the last ones known, 0 before the first.

    >>> import ostinato as ot
    >>> from ostinato import rl
    >>> b, i, t = ot.dims("b i t")
    >>> games = rl.rollout(rl.CartPole(), lambda seen: ot.constant(0), (b, i, t))
    >>> found = ot.Program(**rl.finished(games)).compile()(B=4, I=3, T=20)
    >>> found["episode_return"].round().tolist(), found["episodes"].tolist()
    ([9.0, 10.0, 10.0], [8, 8, 8])
    """
    b, i, t = games.dims
    done = games.done
    count = across(where(done, 1, 0), b, t).sum()

    def mean(name: str, x: Tensor) -> Tensor:
        total = across(where(done, x, 0), b, t).sum()
        known = carry(f"{name}_known", 0.0, over=i, each=each)
        known.step(where(count > 0, total / maximum(count, 1), known))
        return known.after

    told = {
        "episode_return": mean("episode_return", games.earned),
        "episode_length": mean("episode_length", games.steps),
        "episodes": count,
    }
    return {name: along(x, each) for name, x in {**told, **others}.items()}


def across(x: Tensor, *dims: Dimension) -> Tensor:
    """Return a tensor with axes in the place of dimensions, in this order."""
    return x.at(**{dim.name: slice(None) for dim in dims})


def averaged(x: Tensor, *dims: Dimension) -> Tensor:
    """Return the mean over dimensions, of all axes; along those that it lacks a tensor is constant.

    >>> import ostinato as ot
    >>> from ostinato import rl
    >>> b, t = ot.dims("b t")
    >>> mean = rl.averaged(ot.input("x", over=b), b, t)
    >>> float(ot.Program(mean=mean).interpret(x=[1.0, 2.0])["mean"])
    1.5
    """
    return across(x, *(dim for dim in dims if dim.dim in x.over)).mean()


def along(x: Tensor, each: Over) -> Tensor:
    """Return a tensor with axes in the place of the dimensions of independent trainings.

    A record of an iteration then has the values of all of them.
    """
    return across(x, *(dim for dim in _dims(each) if dim.dim in x.over))


def trainings(over: Over, *settings: object) -> tuple[Dimension, ...]:
    """Return the dimensions of independent trainings: those given and those of the settings."""
    found = {dim.dim for dim in _dims(over)}
    for setting in settings:
        if isinstance(setting, Tensor):
            found |= set(setting.over)
    return tuple(map(Dimension, order(found)))


def _dims(over: Over) -> tuple[Dimension, ...]:
    return tuple(map(Dimension, as_dims(over, place())))


def exploring(action: Tensor, count: Count, rate: Tensor | Probability, over: Over) -> Tensor:
    """Return a numbered action, but with a probability any of ``count`` at random.

    Draws are independent at every point of ``over``.

    >>> import ostinato as ot
    >>> from ostinato import rl
    >>> t = ot.dims("t")
    >>> action = rl.exploring(ot.constant(1), 4, 0.5, over=t)
    >>> set(ot.Program(y=action).interpret(T=100)["y"].tolist())
    {0, 1, 2, 3}
    """
    other = random.integers(0, count, over=over)
    return where(random.uniform(over=over) < rate, other, action)
