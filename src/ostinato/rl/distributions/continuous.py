"""Distributions over real vectors: unbounded, squashed into a box, and on a box."""

from __future__ import annotations

import math
from typing import cast

from ostinato.language import random
from ostinato.language.functions.basic import (
    broadcast_to,
    clip,
    exp,
    log,
    log1p,
    softplus,
    stop_gradient,
    tanh,
)
from ostinato.language.functions.elementary import arctanh, digamma, lgamma
from ostinato.language.kinds import Finite
from ostinato.language.tensor import Tensor, as_tensor
from ostinato.pdg.errors import ArgumentError, ShapeError
from ostinato.pdg.naming import called
from ostinato.provenance.place import place
from ostinato.rl.distributions.distribution import Distribution, Sample

_HALF_LOG_TWO_PI = 0.5 * math.log(2.0 * math.pi)
_INSIDE = 1.0 - 1e-6  # of a box: where its edge is taken to be


def _with_axis(x: Tensor) -> Tensor:
    if not x.ndim:
        fact = f"a distribution over vectors with the parameter {called(x.node)}, a scalar"
        raise ShapeError(fact, "Give it an axis: x[..., None] is a vector of one number.", place())
    return x


class Normal(Distribution):
    """Vectors of independent Gaussian numbers.

    Shapes: mean (..., n), log_std broadcasts to it; actions (..., n), log-densities (...).

    >>> import ostinato as ot
    >>> from ostinato import rl
    >>> t = ot.dims("t")
    >>> policy = rl.Normal(ot.input("mean", shape=(2,), over=t), log_std=ot.zeros(2))
    >>> action = policy.sample()
    >>> action, rl.log_prob(action)
    (<action: float32[2] over (t)>, <log_prob: float32[] over (t)>)
    """

    def __init__(self, mean: Tensor, log_std: Tensor) -> None:
        self.mean = _with_axis(mean)
        self.log_std = log_std

    def sample(self) -> Sample:
        """Return a draw at every point; no gradient flows through it."""
        return Sample(stop_gradient(self._draw()).named("action"), self)

    def rsample(self) -> Sample:
        """Return a draw through which gradients flow to mean and standard deviation."""
        return Sample(self._draw().named("action"), self)

    def _draw(self) -> Tensor:
        return random.normal(mean=self.mean, std=exp(self.log_std))

    def log_prob(self, action: object) -> Tensor:
        """Return the log-density of an action."""
        distance = (as_tensor(action) - self.mean) * exp(-self.log_std)
        each = -0.5 * distance * distance - self.log_std - _HALF_LOG_TWO_PI
        return each.sum(-1).named("log_prob")

    def entropy(self) -> Tensor:
        """Return the differential entropy in nats."""
        return (self._log_std() + (0.5 + _HALF_LOG_TWO_PI)).sum(-1)

    def _log_std(self) -> Tensor:
        return broadcast_to(self.log_std, self.mean.shape)

    @property
    def mode(self) -> Tensor:
        """The mean."""
        return self.mean

    def _kl(self, other: Distribution) -> Tensor:
        yours = cast(Normal, other)
        ratio = exp(2.0 * (self.log_std - yours.log_std))
        distance = (self.mean - yours.mean) * exp(-yours.log_std)
        each = 0.5 * (ratio + distance * distance - 1.0) + yours.log_std - self.log_std
        return each.sum(-1)


class _Box(Distribution):
    """A distribution on a box, the same ``low`` and ``high`` in every direction or one for each."""

    def __init__(self, low: Tensor | Finite, high: Tensor | Finite) -> None:
        if isinstance(low, float | int) and isinstance(high, float | int) and high <= low:
            fact = f"actions between {low} and {high}"
            raise ArgumentError(fact, "Give the lower bound first.", place())
        self.low, self.high = as_tensor(low), as_tensor(high)

    def _log_span(self) -> Tensor:
        return log(self.high - self.low)


class SquashedNormal(_Box):
    """Gaussian vectors ``u``, squashed into a box by ``tanh(u)``.

    Shapes: mean (..., n), log_std, low and high broadcast to it; actions (..., n).
    Source: Haarnoja et al. 2018, Soft actor-critic, appendix C.

    >>> import ostinato as ot
    >>> from ostinato import rl
    >>> t = ot.dims("t")
    >>> mean = ot.input("mean", shape=(1,), over=t)
    >>> policy = rl.SquashedNormal(mean, log_std=ot.zeros(1), low=-2.0, high=2.0)
    >>> action = policy.rsample()
    >>> action, rl.log_prob(action)
    (<action: float32[1] over (t)>, <log_prob: float32[] over (t)>)
    """

    def __init__(
        self,
        mean: Tensor,
        log_std: Tensor,
        low: Tensor | Finite = -1.0,
        high: Tensor | Finite = 1.0,
    ) -> None:
        super().__init__(low, high)
        self.normal = Normal(mean, log_std)

    def sample(self) -> Sample:
        """Return a draw at every point; no gradient flows through it."""
        return self._squashed(self.normal.sample())

    def rsample(self) -> Sample:
        """Return a draw through which gradients flow to mean and standard deviation."""
        return self._squashed(self.normal.rsample())

    def _squashed(self, before: Tensor) -> Sample:
        return Sample(self._action(before).named("action"), self, before)

    def _action(self, before: Tensor) -> Tensor:
        return self.low + 0.5 * (self.high - self.low) * (tanh(before) + 1.0)

    def log_prob(self, action: object) -> Tensor:
        """Return the log-density of an action.

        Of a draw of this distribution it is exact; what comes from elsewhere is moved inside of the
        box by a millionth of it, where it lies on an edge.
        """
        if isinstance(action, Sample) and action.distribution is self and action.before is not None:
            before = action.before
        else:
            part = 2.0 * (as_tensor(action) - self.low) / (self.high - self.low) - 1.0
            before = arctanh(clip(part, -_INSIDE, _INSIDE))
        # log(1 - tanh(u)**2) = 2 (log 2 - u - softplus(-2 u)) loses no digits for large u.
        slope = 2.0 * (math.log(2.0) - before - softplus(-2.0 * before))
        slope = slope + self._log_span() - math.log(2.0)
        return (self.normal.log_prob(before) - slope.sum(-1)).named("log_prob")

    def entropy(self) -> Tensor:
        """Return minus the log-density of one draw, which is the entropy on average."""
        return -self.log_prob(self.rsample())

    @property
    def mode(self) -> Tensor:
        """The squashed mean."""
        return self._action(self.normal.mean)

    def _kl(self, other: Distribution) -> Tensor:
        return self.normal.kl(cast(SquashedNormal, other).normal)


class Beta(_Box):
    """Vectors of independent numbers of density ``x**(a - 1) * (1 - x)**(b - 1)`` across a box.

    No gradient flows through draws. Shapes: a and b (..., n), above 0; low and high broadcast.
    Source: Chou, Maturana and Scherer 2017, Improving stochastic policy gradients.

    >>> import ostinato as ot
    >>> from ostinato import rl
    >>> t = ot.dims("t")
    >>> a = 1.0 + ot.softplus(ot.input("a", shape=(2,), over=t))
    >>> rl.Beta(a, a, low=-1.0, high=1.0).sample()
    <action: float32[2] over (t)>
    """

    def __init__(
        self, a: Tensor, b: Tensor, low: Tensor | Finite = 0.0, high: Tensor | Finite = 1.0
    ) -> None:
        super().__init__(low, high)
        self.a, self.b = _with_axis(a), _with_axis(b)

    def sample(self) -> Sample:
        """Return a draw at every point; no gradient flows through it."""
        part = random.beta(self.a, self.b)
        return Sample(stop_gradient(self._across(part)).named("action"), self)

    def _across(self, part: Tensor) -> Tensor:
        return self.low + (self.high - self.low) * part

    def log_prob(self, action: object) -> Tensor:
        """Return the log-density of an action; an edge is taken to lie inside of the box."""
        part = (as_tensor(action) - self.low) / (self.high - self.low)
        x = clip(part, 1.0 - _INSIDE, _INSIDE)
        each = (self.a - 1.0) * log(x) + (self.b - 1.0) * log1p(-x)
        return (each - _log_beta(self.a, self.b) - self._log_span()).sum(-1).named("log_prob")

    def entropy(self) -> Tensor:
        """Return the differential entropy in nats."""
        a, b = self.a, self.b
        bent = (a - 1.0) * digamma(a) + (b - 1.0) * digamma(b) - (a + b - 2.0) * digamma(a + b)
        return (_log_beta(a, b) - bent + self._log_span()).sum(-1)

    @property
    def mode(self) -> Tensor:
        """The mean: the densest point of a Beta distribution may be an edge, or no single one."""
        return self._across(self.a / (self.a + self.b))

    def _kl(self, other: Distribution) -> Tensor:
        a, b = self.a, self.b
        yours = cast(Beta, other)
        c, d = yours.a, yours.b
        bent = (a - c) * digamma(a) + (b - d) * digamma(b) + (c - a + d - b) * digamma(a + b)
        return (_log_beta(c, d) - _log_beta(a, b) + bent).sum(-1)


def _log_beta(a: Tensor, b: Tensor) -> Tensor:
    return lgamma(a) + lgamma(b) - lgamma(a + b)
