"""Environments of which an agent sees a part."""

from __future__ import annotations

from collections.abc import Sequence

from ostinato.language.functions.basic import stack
from ostinato.language.kinds import Natural
from ostinato.language.record import Record
from ostinato.language.tensor import Tensor
from ostinato.pdg.errors import ArgumentError
from ostinato.provenance.place import place
from ostinato.rl.environments.environment import A_co, Env
from ostinato.rl.environments.wrapper import Wrapper


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
