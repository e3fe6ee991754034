"""Environments made of another one: less time, several frames, other axes, repeated actions."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Generic

from ostinato.language import random
from ostinato.language.dims import Dimension
from ostinato.language.functions.basic import (
    concatenate,
    expand_dims,
    stack,
    swapaxes,
    transpose,
    where,
    zeros,
)
from ostinato.language.kinds import Count, Natural, Probability
from ostinato.language.record import Record
from ostinato.language.recurrent import Over, as_dims
from ostinato.language.tensor import Tensor
from ostinato.pdg.errors import ArgumentError
from ostinato.provenance.place import place
from ostinato.rl.environments.environment import (
    A_co,
    Discrete,
    Env,
    LimitsActions,
    at_each,
    begun,
    points,
    restarted,
    takes_turns,
)


class Wrapper(Generic[A_co]):
    """An environment that is another one until a method says otherwise.

    What it remembers besides stands in the same record, under names of `free_name`: ``begun`` adds
    it to first states. Where the environment has legal actions these are legal here too; what
    shows something else says by ``unwrapped`` what the environment showed.

    Errors: ArgumentError for a class with a ``reset`` of its own, which says nothing of the
    episodes that begin where others ended.
    """

    def __init_subclass__(cls, **options: object) -> None:
        super().__init_subclass__(**options)
        if _says(cls, "reset") and not _says(cls, "restart"):
            fact = f"`{cls.__name__}` has a `reset` of its own: only a first episode begins with it"
            remedy = "Write `begun(first, over)`, which gives the first states of every episode."
            raise ArgumentError(fact, remedy, place())

    def __init__(self, env: Env[A_co]) -> None:
        self.env, self.actions = env, env.actions
        self.observation_shape = env.observation_shape
        self.takes_turns = takes_turns(env)
        if isinstance(env, LimitsActions) and not _says(type(self), "legal"):
            limits = env

            def legal(observation: Tensor) -> Tensor:
                return limits.legal(self.unwrapped(observation))

            self.legal = legal

    def free_name(self, name: str) -> str:
        """Return the name, or one like it, for what states of the environment do not have yet."""
        return name if name not in self.env.state.fields else self.free_name(f"{name}_outside")

    def unwrapped(self, observation: Tensor) -> Tensor:
        """Return what the environment showed, by what is seen here: each a vector of numbers.

        Errors: ArgumentError if it is not known.
        """
        if _says(type(self), "observe"):
            fact = f"what `{type(self).__name__}` shows does not say which actions are legal"
            remedy = "Write `unwrapped(observation)`, which returns what its environment shows."
            raise ArgumentError(fact, remedy, place())
        return observation

    @property
    def state(self) -> Record:
        return self.env.state

    def begun(self, first: Record, over: Over) -> Record:
        """Return first states of the environment with what is remembered besides."""
        return first

    def reset(self, over: Over) -> Record:
        """Return first states."""
        return self.begun(self.env.reset(over), over)

    def begin(self, games: Over, over: Over) -> Record:
        """Return first states of all games, begun anew at every point of ``over``."""
        where = place()
        every = tuple(map(Dimension, (*as_dims(games, where), *as_dims(over, where))))
        return self.begun(begun(self.env, games, over), every)

    def restart(self, following: Record, over: Over) -> Record:
        """Return first states for where episodes ended."""
        return self.begun(restarted(self.env, following, over), over)

    def observe(self, state: Record) -> Tensor:
        """Return what the environment shows."""
        return self.env.observe(state)

    def step(self, state: Record, action: Tensor) -> tuple[Record, Tensor, Tensor, Tensor]:
        """Return what the environment does."""
        return self.env.step(state, action)


def _says(kind: type, name: str) -> bool:
    """Whether a class, or one between it and `Wrapper`, has a method of its own."""
    return any(name in vars(each) for each in kind.mro()[: kind.mro().index(Wrapper)])


class TimeLimit(Wrapper[A_co]):
    """An environment whose episodes are cut after so many steps.

    >>> import ostinato as ot
    >>> from ostinato import rl
    >>> b, i, t = ot.dims("b i t")
    >>> env = rl.TimeLimit(rl.Breakout(), 3)
    >>> games = rl.rollout(env, lambda seen: ot.constant(0), (b, i, t))
    >>> ot.Program(cut=games.truncated).interpret(B=1, I=1, T=6)["cut"].astype(int).tolist()
    [[[0, 0, 1, 0, 0, 1]]]
    """

    def __init__(self, env: Env[A_co], steps: Count) -> None:
        super().__init__(env)
        self._most, self._played = steps, self.free_name("played")

    @property
    def state(self) -> Record:
        return Record(**self.env.state.fields, **{self._played: zeros((), "int32")})

    def begun(self, first: Record, over: Over) -> Record:
        """Return first states, of which no step is played."""
        return Record(**first.fields, **{self._played: at_each(0, over)})

    def step(self, state: Record, action: Tensor) -> tuple[Record, Tensor, Tensor, Tensor]:
        """Return what the environment does, which is cut after the last step."""
        following, reward, terminated, truncated = self.env.step(state, action)
        played = getattr(state, self._played) + 1
        after = Record(**following.fields, **{self._played: played})
        return after, reward, terminated, truncated | (played >= self._most)


class FrameStack(Wrapper[A_co]):
    """An environment that shows what was seen last, ``count`` times, the newest last.

    Shapes: what the environment shows, (...) -> (count, ...). At first all are the same.

    >>> import ostinato as ot
    >>> from ostinato import rl
    >>> env = rl.FrameStack(rl.Pendulum(), 4)
    >>> env.observe(env.reset(over=ot.dims("b")))
    <float32[4, 3] over (b)>
    """

    def __init__(self, env: Env[A_co], count: Count) -> None:
        super().__init__(env)
        self.observation_shape = (count, *env.observation_shape)
        self._frames = self.free_name("frames")

    @property
    def state(self) -> Record:
        return Record(**self.env.state.fields, **{self._frames: zeros(self.observation_shape)})

    def begun(self, first: Record, over: Over) -> Record:
        """Return first states, all of whose frames are the same."""
        seen = self.env.observe(first)
        return Record(**first.fields, **{self._frames: stack([seen] * self.observation_shape[0])})

    def observe(self, state: Record) -> Tensor:
        """Return the frames."""
        frames: Tensor = getattr(state, self._frames)
        return frames

    def unwrapped(self, observation: Tensor) -> Tensor:
        """Return the newest frame."""
        return observation[..., -prod(self.env.observation_shape) :]

    def step(self, state: Record, action: Tensor) -> tuple[Record, Tensor, Tensor, Tensor]:
        """Return what the environment does, with one frame more and the oldest left out."""
        following, *results = self.env.step(state, action)
        reward, terminated, truncated = results
        newest = expand_dims(self.env.observe(following), 0)
        rest = (slice(None),) * (newest.ndim - 1)
        frames = concatenate([self.observe(state)[(..., slice(1, None), *rest)], newest])
        after = Record(**following.fields, **{self._frames: frames})
        return after, reward, terminated, truncated


class ChannelsFirst(Wrapper[A_co]):
    """An environment whose boards (h, w, c) are seen as (c, h, w), as `nn.Conv` takes them.

    Errors: ArgumentError for an environment that shows something else.

    >>> import ostinato as ot
    >>> from ostinato import rl
    >>> env = rl.ChannelsFirst(rl.Breakout())
    >>> env.observe(env.reset(over=ot.dims("b")))
    <float32[4, 10, 10] over (b)>
    """

    def __init__(self, env: Env[A_co]) -> None:
        super().__init__(env)
        if len(env.observation_shape) != 3:
            fact = f"an environment that shows {' x '.join(map(str, env.observation_shape))}"
            raise ArgumentError(fact, "Give one that shows boards of h x w x c.", place())
        height, width, layers = env.observation_shape
        self.observation_shape = (layers, height, width)

    def observe(self, state: Record) -> Tensor:
        """Return the layers, each a board."""
        return transpose(self.env.observe(state), (2, 0, 1))

    def unwrapped(self, observation: Tensor) -> Tensor:
        """Return the layers of every place."""
        layers, *board = self.observation_shape
        places = observation.reshape((*observation.shape[:-1], layers, prod(board)))
        return swapaxes(places, -1, -2).reshape(observation.shape)


class Sticky(Wrapper[Discrete]):
    """An environment with sticky actions: with a probability an agent does the same as before.

    The state is that of the environment and the ``last`` action, 0 when an episode begins.

    Source: Machado et al. 2018, Revisiting the arcade learning environment.

    >>> import ostinato as ot
    >>> from ostinato import rl
    >>> b = ot.dims("b")
    >>> env = rl.Sticky(rl.Breakout(), 0.1)
    >>> following, *_ = env.step(env.reset(over=b), ot.constant(2))
    >>> moved = ot.Program(share=(following.paddle == 5)[:].mean())
    >>> round(float(moved.compile()(B=10000)["share"]), 2)
    0.9
    """

    def __init__(self, env: Env[Discrete], probability: Tensor | Probability = 0.1) -> None:
        super().__init__(env)
        self.probability, self._last = probability, self.free_name("last")

    @property
    def state(self) -> Record:
        return Record(**self.env.state.fields, **{self._last: zeros((), "int32")})

    def begun(self, first: Record, over: Over) -> Record:
        """Return first states, before which the action was 0."""
        return Record(**first.fields, **{self._last: at_each(0, over)})

    def step(self, state: Record, action: Tensor) -> tuple[Record, Tensor, Tensor, Tensor]:
        """Return what the environment does at the action, or at the last one."""
        repeats = random.bernoulli(self.probability, over=points(state, action))
        done = where(repeats, getattr(state, self._last), action)
        following, *results = self.env.step(state, done)
        reward, terminated, truncated = results
        after = Record(**following.fields, **{self._last: done})
        return after, reward, terminated, truncated


class PartiallyObserved(Wrapper[A_co]):
    """An environment whose agent sees some of the numbers of an observation.

    ``rl.PartiallyObserved(rl.CartPole(), [0, 2])`` shows no speeds: it takes an agent that
    remembers what it saw.

    Errors: ArgumentError for a number that an observation does not have, and for an environment
    that shows a board.

    >>> import ostinato as ot
    >>> from ostinato import rl
    >>> env = rl.PartiallyObserved(rl.CartPole(), [0, 2])
    >>> env.observe(env.reset(over=ot.dims("b")))
    <float32[2] over (b)>
    """

    def __init__(self, env: Env[A_co], seen: Sequence[Natural]) -> None:
        shape = env.observation_shape
        if len(shape) != 1:
            fact = f"an environment that shows a board of {' x '.join(map(str, shape))}"
            raise ArgumentError(fact, "Give one that shows a list of numbers.", place())
        if not seen or max(seen) >= shape[0]:
            fact = f"the numbers {list(seen)} of an observation of {shape[0]}"
            raise ArgumentError(fact, f"Number them from 0 to {shape[0] - 1}.", place())
        super().__init__(env)
        self.seen = tuple(seen)
        self.observation_shape = (len(self.seen),)

    def observe(self, state: Record) -> Tensor:
        """Return the numbers that are seen."""
        whole = self.env.observe(state)
        return stack([whole[..., number] for number in self.seen], -1)
