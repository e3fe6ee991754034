"""The distribution over discrete actions."""

from __future__ import annotations

from ostinato.language import random
from ostinato.language.functions.basic import (
    expand_dims,
    log_softmax,
    softmax,
    squeeze,
    take_along_axis,
)
from ostinato.language.tensor import Tensor, as_tensor
from ostinato.pdg.errors import GradientError, ShapeError
from ostinato.pdg.naming import called
from ostinato.provenance.place import place


class Sample(Tensor):
    """A drawn action that remembers its distribution, for `log_prob`."""

    __slots__ = ("distribution",)

    def __init__(self, drawn: Tensor, distribution: Categorical) -> None:
        super().__init__(drawn.node, drawn.sources)
        self.distribution = distribution


class Categorical:
    """Actions 0, 1, ... with probabilities given by logits along the last axis.

    >>> import ostinato as ot
    >>> from ostinato import rl
    >>> t = ot.dims("t")
    >>> action = rl.Categorical(ot.input("logits", shape=(3,), over=t)).sample()
    >>> action, rl.log_prob(action)
    (<action: int32[] over (t)>, <log_prob: float32[] over (t)>)
    """

    def __init__(self, logits: Tensor) -> None:
        if not logits.ndim:
            fact = f"a distribution of the logits {called(logits.node)}, a scalar"
            raise ShapeError(fact, "Give logits with at least one axis.", place())
        self.logits = logits

    def sample(self) -> Sample:
        """Return a draw at every point of the logits' domain."""
        return Sample(random.categorical(self.logits).named("action"), self)

    def log_prob(self, action: object) -> Tensor:
        """Return the log-probability of an action, which may come from elsewhere."""
        places = expand_dims(as_tensor(action), -1)
        taken = take_along_axis(log_softmax(self.logits), places, -1)
        return squeeze(taken, -1).named("log_prob")

    def entropy(self) -> Tensor:
        """Return the entropy in nats."""
        return -(softmax(self.logits) * log_softmax(self.logits)).sum(-1)


def log_prob(action: Tensor) -> Tensor:
    """Return the log-probability of a drawn action under the distribution that drew it.

    Errors: GradientError if the action does not come from ``sample()``.
    """
    if not isinstance(action, Sample):
        fact = f"{called(action.node)} was not drawn from a distribution"
        remedy = "Pass what `.sample()` returned, or use `distribution.log_prob(action)`."
        raise GradientError(fact, remedy, place())
    return action.distribution.log_prob(action)
