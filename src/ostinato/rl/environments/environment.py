"""What an environment is: pure functions of a state; and what its actions may be."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Protocol, TypeVar, runtime_checkable

from ostinato.language.array.dtypes import DtypeName, check_dtype
from ostinato.language.dims import Dimension
from ostinato.language.functions.basic import index, zeros
from ostinato.language.kinds import Count, Finite
from ostinato.language.record import Record
from ostinato.language.recurrent import Over, as_dims
from ostinato.language.tensor import Tensor, as_tensor
from ostinato.pdg.build import order
from ostinato.pdg.errors import ArgumentError, DtypeError
from ostinato.pdg.functions import FLOATS
from ostinato.pdg.index import Dim
from ostinato.provenance.place import place


@dataclass(frozen=True, slots=True)
class Discrete:
    """Actions 0, 1, ..., ``count - 1``: int32 numbers."""

    kind: ClassVar[str] = "numbered actions"
    dtype: ClassVar[DtypeName] = "int32"
    shape: ClassVar[tuple[int, ...]] = ()
    count: Count


@dataclass(frozen=True, slots=True)
class Discretes:
    """Actions of several int32 numbers at once: number k is 0, 1, ..., ``sizes[k] - 1``.

    >>> from ostinato import rl
    >>> rl.Discretes([3, 2]).shape
    (2,)
    """

    kind: ClassVar[str] = "actions of several numbers"
    dtype: ClassVar[DtypeName] = "int32"
    sizes: Sequence[Count]

    @property
    def shape(self) -> tuple[int, ...]:
        return (len(self.sizes),)


@dataclass(frozen=True, slots=True)
class Box:
    """Actions that are vectors of ``size`` float32 numbers from ``low`` to ``high``."""

    kind: ClassVar[str] = "actions that are real vectors"
    dtype: ClassVar[DtypeName] = "float32"
    size: Count
    low: Finite
    high: Finite

    @property
    def shape(self) -> tuple[int, ...]:
        return (self.size,)


Actions = Discrete | Discretes | Box
A_co = TypeVar("A_co", bound=Actions, covariant=True)


class Env(Protocol[A_co]):
    """An environment whose episodes start, are stepped, and end; ``Env[Discrete]`` has numbers.

    The state is a record, so an environment may keep as many tensors as it needs; nothing in it is
    hidden or mutable.
    """

    @property
    def observation_shape(self) -> tuple[int, ...]:
        """The shape of what an agent sees."""
        ...

    @property
    def actions(self) -> A_co:
        """What an agent may do."""
        ...

    @property
    def state(self) -> Record:
        """A state with the right shapes and types, for ``ot.recurrent(..., like=env.state)``."""
        ...

    def reset(self, over: Over) -> Record:
        """Return first states, drawn independently at every point of ``over``."""
        ...

    def observe(self, state: Record) -> Tensor:
        """Return what an agent sees; shape `observation_shape`."""
        ...

    def step(self, state: Record, action: Tensor) -> tuple[Record, Tensor, Tensor, Tensor]:
        """Return the next state, the reward, and whether the episode terminated or was cut."""
        ...


class Game(ABC):
    """An environment of ours: its states are as its first ones are."""

    @abstractmethod
    def reset(self, over: Over) -> Record:
        """Return first states, drawn independently at every point of ``over``."""

    @property
    def state(self) -> Record:
        """A state of zeros."""
        return self.reset(()).map(lambda first: zeros(first.shape, first.dtype))


def acts_by(env: Env[Actions], kind: type[Discrete | Box], algorithm: str) -> None:
    """Refuse an environment whose actions an algorithm cannot choose.

    Errors: ArgumentError.
    """
    plays_alone(env, f"`{algorithm}`")
    if isinstance(env.actions, kind):
        return
    example = "rl.CartPole()" if kind is Discrete else "rl.Pendulum()"
    fact = f"`{algorithm}` gets an environment of {env.actions.kind}"
    raise ArgumentError(fact, f"Give one of {kind.kind}, such as {example}.", place())


@runtime_checkable
class LimitsActions(Protocol):
    """An environment in which not all actions may be taken everywhere."""

    def legal(self, observation: Tensor) -> Tensor:
        """Return which numbered actions may be taken, by what is seen as a vector of numbers."""
        ...


def takes_turns(env: Env[Actions]) -> bool:
    """Return whether two players step an environment in turn.

    Each step rewards who makes it, who sees the next state as the other one does.
    """
    return bool(getattr(env, "takes_turns", False))


def plays_alone(env: Env[Actions], who: str) -> None:
    """Refuse an environment that two players step in turn.

    Errors: ArgumentError.
    """
    if takes_turns(env):
        fact = f"{who} gets a game of two players in turn"
        raise ArgumentError(fact, "Give rl.Against(game), or train both with rl.ppo.", place())


@runtime_checkable
class Restarts(Protocol):
    """An environment whose step says with what the next episode begins, where one ended."""

    def restart(self, following: Record, over: Over) -> Record:
        """Return first states of the episodes that follow."""
        ...


@runtime_checkable
class PlaysTogether(Protocol):
    """An environment whose games are stepped together, whatever loops begin them anew."""

    def begin(self, games: Over, over: Over) -> Record:
        """Return first states of all ``games``, begun anew at every point of ``over``."""
        ...


def begun(env: Env[Actions], games: Over, over: Over) -> Record:
    """Return first states of games that begin at every point of ``over``."""
    if isinstance(env, PlaysTogether):
        return env.begin(games, over)
    where = place()
    return env.reset((*as_dims(games, where), *as_dims(over, where)))


def restarted(env: Env[Actions], following: Record, over: Over) -> Record:
    """Return first states at every point of ``over``, for where episodes ended with a step."""
    return env.restart(following, over) if isinstance(env, Restarts) else env.reset(over)


def real(dtype: DtypeName, what: str) -> DtypeName:
    """Return a type of real numbers.

    Errors: DtypeError for another one.
    """
    if check_dtype(dtype, place()) not in FLOATS:
        raise DtypeError(f"a {what} in {dtype}", "Use float32 or float64.", place())
    return dtype


def at_each(value: int, over: Over) -> Tensor:
    """Return an int32 number that has a value at every point of ``over``: the same one."""
    found = as_tensor(value)
    for dim in as_dims(over, place()):
        found = found + 0 * index(Dimension(dim))
    return found


def everywhere(x: Tensor, over: Sequence[Dim]) -> Tensor:
    """Return a tensor with a value at every point of ``over``, also where all are the same."""
    missing = [Dimension(dim) for dim in over if dim not in x.over]
    if not missing:
        return x
    nothing = at_each(0, missing)
    return x | (nothing > 0) if x.dtype == "bool" else x + nothing.cast(x.dtype)


def stepped(
    env: Env[Actions], state: Record, action: Tensor
) -> tuple[Record, Tensor, Tensor, Tensor]:
    """Return the next state, and what the step led to at every point at which it is made.

    An environment may return constants: games that never terminate, or always do.
    """
    following, *results = env.step(state, action)
    over = points(state, action)
    reward, terminated, truncated = (everywhere(as_tensor(each), over) for each in results)
    return following, reward, terminated, truncated


def points(state: Record, *action: Tensor) -> tuple[Dim, ...]:
    """Return the dimensions over which a step is made: those of its state and of the action."""
    return order({dim for tensor in (*state, *action) for dim in tensor.over})
