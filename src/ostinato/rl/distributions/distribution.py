"""What a distribution over actions is, and draws that remember theirs."""

from __future__ import annotations

from abc import ABC, abstractmethod

from ostinato.language.tensor import Tensor
from ostinato.pdg.errors import ArgumentError, GradientError
from ostinato.pdg.naming import called
from ostinato.provenance.place import place


class Distribution(ABC):
    """A distribution over actions at every point: draws, their log-probabilities, entropy."""

    @abstractmethod
    def sample(self) -> Sample:
        """Return a draw at every point; no gradient flows through it."""

    @abstractmethod
    def log_prob(self, action: object) -> Tensor:
        """Return the log-probability, or log-density, of an action that may come from elsewhere."""

    @abstractmethod
    def entropy(self) -> Tensor:
        """Return the entropy in nats."""

    @property
    @abstractmethod
    def mode(self) -> Tensor:
        """The action to take when nothing is to be explored."""

    def kl(self, other: Distribution) -> Tensor:
        """Return the divergence of another distribution of the same kind from this one, in nats.

        Errors: ArgumentError for another kind.
        """
        if type(other) is not type(self):
            fact = f"the divergence of a {type(self).__name__} from a {type(other).__name__}"
            raise ArgumentError(fact, "Compare two distributions of one kind.", place())
        return self._kl(other)

    @abstractmethod
    def _kl(self, other: Distribution) -> Tensor:
        """The divergence of one of the same kind."""


class Sample(Tensor):
    """A drawn action that remembers its distribution, for `log_prob`."""

    __slots__ = ("before", "distribution")

    def __init__(
        self, drawn: Tensor, distribution: Distribution, before: Tensor | None = None
    ) -> None:
        super().__init__(drawn.node, drawn.sources)
        self.distribution = distribution
        self.before = before  # the draw that an action was computed from, if that is kept


def log_prob(action: Tensor) -> Tensor:
    """Return the log-probability of a drawn action under the distribution that drew it.

    Errors: GradientError if the action does not come from ``sample()``.
    """
    if not isinstance(action, Sample):
        fact = f"{called(action.node)} was not drawn from a distribution"
        remedy = "Pass what `.sample()` returned, or use `distribution.log_prob(action)`."
        raise GradientError(fact, remedy, place())
    return action.distribution.log_prob(action)
