"""What an environment is: pure functions of a state."""

from __future__ import annotations

from typing import Protocol

from ostinato.language.record import Record
from ostinato.language.recurrent import Over
from ostinato.language.tensor import Tensor


class Env(Protocol):
    """An environment with discrete actions.

    The state is a record, so an environment may keep as many tensors as it needs; nothing in it is
    hidden or mutable.
    """

    @property
    def observation_size(self) -> int:
        """The number of observed values."""
        ...

    @property
    def num_actions(self) -> int:
        """The number of actions, numbered from 0."""
        ...

    @property
    def state(self) -> Record:
        """A state with the right shapes and types, for ``ot.recurrent(..., like=env.state)``."""
        ...

    def reset(self, over: Over = ()) -> Record:
        """Return first states, drawn independently at every point of ``over``."""
        ...

    def observe(self, state: Record) -> Tensor:
        """Return what an agent sees; shape (observation_size,)."""
        ...

    def step(self, state: Record, action: Tensor) -> tuple[Record, Tensor, Tensor, Tensor]:
        """Return the next state, the reward, and whether the episode terminated or was cut."""
        ...
