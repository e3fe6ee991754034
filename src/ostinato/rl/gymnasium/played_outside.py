"""`Gymnasium`: any environment of Gymnasium as one of a program, by calls of Python."""

from __future__ import annotations

import atexit
from collections.abc import Callable, Generator
from contextlib import contextmanager
from functools import partial
from math import prod
from typing import Any

import numpy as np

from ostinato.language import random
from ostinato.language.dims import Dimension
from ostinato.language.functions.basic import zeros
from ostinato.language.host import host
from ostinato.language.kinds import Count
from ostinato.language.record import Record
from ostinato.language.recurrent import Over, as_dims
from ostinato.language.tensor import Tensor, as_tensor
from ostinato.pdg.errors import ArgumentError
from ostinato.pdg.functions import Array
from ostinato.provenance.place import place
from ostinato.rl.environments.environment import Actions
from ostinato.rl.gymnasium.spaces import action_space, shape_of
from ostinato.rl.gymnasium.vector_games import Games, Mode, games, maker

SEEDS = 2**31 - 1
CUT = "rl.Gymnasium(name, max_episode_steps=100)"


class Gymnasium:
    """Any environment of Gymnasium, by its name or by a function that makes one.

    Its games are stepped by calls of Python, all games of a program together: one after the other
    ("sync"), in processes ("async"), or by EnvPool, where that is installed ("envpool"). There are
    as many as the program plays; ``n`` says how many these must be. A state is what is seen in it:
    the rest of it is Gymnasium's, so a game cannot be stepped twice from one state, and a run
    cannot go on from a checkpoint.

    Where a game ends, `step` gives what was seen last, and the next one begins with what
    Gymnasium's reset gives: a game that was cut is worth what was seen last. Seeds are drawn from
    that of the run. Observations are float32 numbers; those that are no arrays are flattened.
    Other arguments are Gymnasium's.

    Errors: OptionError if the package is not installed; ArgumentError for actions that are neither
    numbered nor vectors with bounds, and for observations of no fixed size.

    >>> import ostinato as ot
    >>> from ostinato import rl
    >>> b, i, t = ot.dims("b i t")
    >>> with rl.Gymnasium("CartPole-v1") as env:
    ...     play = rl.rollout(env, lambda seen: (seen[..., 2] > 0).cast("int32"), (b, i, t))
    ...     found = ot.Program(**rl.finished(play)).compile()(B=4, I=2, T=100)
    >>> bool(found["episode_return"][-1] > 20)
    True
    """

    def __init__(
        self,
        name: str | Callable[[], Any],
        n: Count | None = None,
        *,
        mode: Mode = "sync",
        **settings: object,
    ) -> None:
        self.name = name if isinstance(name, str) else getattr(name, "__name__", "environment")
        self._made = partial(maker, name, settings)
        one = self._game()
        try:
            space = action_space(one.action_space, self.name)
            self.observation_shape = shape_of(one.observation_space, self.name)
        finally:
            one.close()
        self.actions: Actions = space.actions
        self.to_theirs = space.to_theirs
        self._together: tuple[Dimension, ...] = ()
        self._outside = _Outside(self, n, lambda count: games(name, count, mode, settings))

    def _game(self, **settings: object) -> Any:
        """One game of Gymnasium.

        Errors: ArgumentError if it cannot be made.
        """
        make = self._made(**settings)
        try:
            return make()
        except Exception as failure:
            fact = f"`{self.name}` cannot be made: {type(failure).__name__}: {failure}"
            remedy = "Give the name of an environment that is installed, or a function of one."
            raise ArgumentError(fact, remedy, place()) from failure

    def __enter__(self) -> Gymnasium:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close Gymnasium's environments; another run makes new ones."""
        self._outside.close()

    @contextmanager
    def alone(self, **settings: object) -> Generator[Any]:
        """Yield one game of Gymnasium, to be played by Python, and close it."""
        game = self._game(**settings)
        try:
            yield game
        finally:
            game.close()

    @property
    def state(self) -> Record:
        seen = zeros(self.observation_shape)
        return Record(seen=seen, fresh=seen, begins=as_tensor(False))

    def reset(self, over: Over) -> Record:
        """Begin the games at all points of ``over``, which are stepped together from then on."""
        return self.begin(over, ())

    def begin(self, games: Over, over: Over) -> Record:
        """Begin the games, which are stepped together, anew at every point of ``over``."""
        together, loops = as_dims(games, place()), as_dims(over, place())
        self._together = tuple(map(Dimension, together))
        seeds = random.integers(0, SEEDS, over=(*together, *loops))
        seen = host(
            self._outside.reset, seeds, shape=self.observation_shape, over=self._together,
            effects=f"gymnasium {self.name}", name=f"reset {self.name}",
        )  # fmt: skip
        assert isinstance(seen, Tensor), "what is seen is a tensor"
        return Record(seen=seen, fresh=seen, begins=as_tensor(True))

    def observe(self, state: Record) -> Tensor:
        """Return what is seen."""
        return state.seen

    def step(self, state: Record, action: Tensor) -> tuple[Record, Tensor, Tensor, Tensor]:
        """Return the next state, the reward, and whether the game terminated or was cut."""
        if not self._together:
            fact = f"a step of `{self.name}`, whose games did not begin"
            raise ArgumentError(fact, "Write env.reset(over=...) before.", place())
        size, n = self.observation_shape, prod(self.observation_shape)
        before = state.seen[(..., *(0 for _ in size))]  # a step comes after what is seen before it
        row = host(
            self._outside.step, action, before, state.begins, shape=(2 * n + 3,),
            over=self._together, effects=f"gymnasium {self.name}", name=f"step {self.name}",
        )  # fmt: skip
        assert isinstance(row, Tensor), "a step is one row of numbers"
        seen, fresh = (row[..., k * n : (k + 1) * n].reshape(size) for k in (0, 1))
        reward, terminated, truncated = (row[..., 2 * n + k] for k in range(3))
        after = Record(seen=seen, fresh=fresh, begins=as_tensor(False))
        return after, reward, terminated > 0.0, truncated > 0.0

    def restart(self, following: Record, over: Over) -> Record:
        """Return the states that the next games began with, which Gymnasium has begun already."""
        return Record(seen=following.fresh, fresh=following.fresh, begins=as_tensor(True))


class _Outside:
    """The games of one run after the other."""

    def __init__(self, env: Gymnasium, most: int | None, make: Callable[[int], Games]) -> None:
        self._to_theirs, self._shape = env.to_theirs, env.observation_shape
        self._name, self._count, self._make = env.name, most, make
        self._games: Games | None = None  # those of the last run
        self._begun: Array = np.ones(0, np.bool_)  # which of them did not go on at the last step

    def reset(self, seeds: Array) -> Array:
        """Begin as many games as there are seeds."""
        if self._count not in (None, seeds.size):
            fact = (
                f"the program plays {seeds.size} games of `{self._name}`, which has {self._count}"
            )
            raise ValueError(f"{fact}: leave out n, or play as many")
        if self._games is None or self._games.count != seeds.size:
            self.close()
            self._games = self._make(seeds.size)
            atexit.register(self._games.close)  # while its processes still listen
        self._begun = np.ones(seeds.size, np.bool_)
        return self._seen(self._watched(self._games.reset, seeds.ravel()), seeds.shape)

    def step(self, action: Array, before: Array, begins: Array) -> Array:
        """Step all games, which ``before`` says have begun; a row of all results for each game.

        ``begins`` says which games the program takes to begin with this step.
        """
        games, lead = self._games, before.shape
        assert games is not None, "a step before a reset"
        if (np.broadcast_to(begins, lead).ravel() & ~self._begun).any():
            fact = f"the program ended an episode of `{self._name}`, which goes on in Gymnasium"
            raise ValueError(f"{fact}: cut it there, such as by {CUT}")
        flat = action.reshape(games.count, *action.shape[len(lead) :])
        rows: Array = self._watched(games.step, self._to_theirs(flat))
        self._begun = (rows[:, -2:] > 0.0).any(-1)
        return rows.reshape(*lead, -1)

    def _seen(self, seen: Array, lead: tuple[int, ...]) -> Array:
        found, shape = np.asarray(seen, np.float32), (*lead, *self._shape)
        if found.size != prod(shape):
            told = f"not {self._shape} as Gymnasium says"
            raise ValueError(f"`{self._name}` shows observations {found.shape[1:]}, {told}")
        return found.reshape(shape)

    def _watched(self, call: Callable[[Array], Any], given: Array) -> Any:
        """What a call returns; if it fails the games are closed, and the next run has new ones."""
        try:
            return call(given)
        except BaseException:
            self.close()
            raise

    def __del__(self) -> None:
        self.close()

    def close(self) -> None:
        """Close the games, if there are any."""
        games, self._games = self._games, None
        if games is not None:
            atexit.unregister(games.close)
            games.close()
