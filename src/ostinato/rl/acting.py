"""What a policy does with what it sees, whether it has a memory or not."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, runtime_checkable

from ostinato.language.record import Record
from ostinato.language.shown import shown
from ostinato.language.tensor import Tensor
from ostinato.nn.module import Module
from ostinato.pdg.errors import ArgumentError
from ostinato.provenance.place import place
from ostinato.rl.distributions.distribution import Distribution


@runtime_checkable
class Remembers(Protocol):
    """A policy with a memory, which is ``nothing`` before the first step of an episode."""

    @property
    def nothing(self) -> Record: ...

    def remember(self, observation: Tensor, memory: Record) -> Record:
        """Return the memory after it has seen something."""
        ...

    def policy(self, memory: Record) -> Distribution | Tensor:
        """Return a distribution over actions, or an action."""
        ...


def remembered(policy: Module) -> Record:
    """Return what a policy remembers before an episode: a record of nothing without a memory."""
    return policy.nothing if isinstance(policy, Remembers) else Record()


def chosen(
    policy: Module | Callable[[Tensor], object],
    observation: Tensor,
    memory: Record,
    *,
    greedy: bool,
) -> tuple[Tensor, Record]:
    """Return an action, the best or a drawn one, and the memory after it.

    Errors: ArgumentError if the policy gives neither a distribution nor an action.
    """
    if isinstance(policy, Remembers):
        memory = policy.remember(observation, memory)
        found: object = policy.policy(memory)
    elif callable(policy):
        found = policy(observation)
    else:
        raise ArgumentError(f"{shown(policy)} cannot be called", "Give it __call__.", place())
    if isinstance(found, Distribution):
        return (found.mode if greedy else found.sample()), memory
    if not isinstance(found, Tensor):
        fact = f"a policy gives {shown(found)}"
        raise ArgumentError(fact, "Return a distribution over actions, or an action.", place())
    return found, memory
