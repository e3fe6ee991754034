"""Distributions over one discrete action, several of them, and switches."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate, pairwise
from typing import cast

from ostinato.language import random
from ostinato.language.functions.basic import (
    exp,
    expand_dims,
    log_softmax,
    sigmoid,
    softmax,
    softplus,
    squeeze,
    stack,
    take_along_axis,
    where,
)
from ostinato.language.kinds import Count
from ostinato.language.tensor import Tensor, as_tensor
from ostinato.pdg.errors import ShapeError
from ostinato.pdg.index import expr
from ostinato.pdg.naming import called
from ostinato.provenance.place import place
from ostinato.rl.distributions.distribution import Distribution, Sample

NEVER = -1e9  # the logit of an action that is not legal: its probability is 0


def only_legal(logits: Tensor, legal: Tensor) -> Tensor:
    """Return logits with which no action is drawn that is not legal.

    >>> import ostinato as ot
    >>> from ostinato import rl
    >>> logits = rl.only_legal(ot.constant([5.0, 1.0]), ot.constant([False, True]))
    >>> float(ot.Program(p=ot.exp(rl.Categorical(logits).log_prob(1))).interpret()["p"])
    1.0
    """
    return where(legal, logits, NEVER)


def _with_axis(logits: Tensor) -> Tensor:
    if not logits.ndim:
        fact = f"a distribution of the logits {called(logits.node)}, a scalar"
        raise ShapeError(fact, "Give logits with at least one axis.", place())
    return logits


class Categorical(Distribution):
    """Actions 0, 1, ... with probabilities given by logits along the last axis.

    Shapes: logits (..., n); actions (...), int32.

    >>> import ostinato as ot
    >>> from ostinato import rl
    >>> t = ot.dims("t")
    >>> action = rl.Categorical(ot.input("logits", shape=(3,), over=t)).sample()
    >>> action, rl.log_prob(action)
    (<action: int32[] over (t)>, <log_prob: float32[] over (t)>)
    """

    def __init__(self, logits: Tensor) -> None:
        self.logits = _with_axis(logits)

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

    @property
    def mode(self) -> Tensor:
        """The most probable action, the first of equals."""
        return self.logits.argmax(-1)

    def _kl(self, other: Distribution) -> Tensor:
        mine, yours = log_softmax(self.logits), log_softmax(cast(Categorical, other).logits)
        return (exp(mine) * (mine - yours)).sum(-1)


class MultiDiscrete(Distribution):
    """Several independent discrete actions at once, of ``sizes`` choices each.

    Shapes: logits (..., sum of sizes); actions (..., number of sizes), int32.

    >>> import ostinato as ot
    >>> from ostinato import rl
    >>> t = ot.dims("t")
    >>> rl.MultiDiscrete(ot.input("logits", shape=(5,), over=t), sizes=(2, 3)).sample()
    <action: int32[2] over (t)>
    """

    def __init__(self, logits: Tensor, sizes: Sequence[Count]) -> None:
        ends = [0, *accumulate(sizes)]
        if not sizes or _with_axis(logits).node.shape[-1] != expr(ends[-1]):
            fact = f"logits {called(logits.node)} of {logits.shape[-1]} for choices of {sizes}"
            raise ShapeError(fact, f"Give {ends[-1]} logits, as many as choices.", place())
        self.parts = tuple(Categorical(logits[..., a:b]) for a, b in pairwise(ends))

    def sample(self) -> Sample:
        """Return the draws of all parts along the last axis."""
        drawn = stack([random.categorical(part.logits) for part in self.parts], -1)
        return Sample(drawn.named("action"), self)

    def log_prob(self, action: object) -> Tensor:
        """Return the log-probability of all parts of an action together."""
        taken = as_tensor(action)
        each = [part.log_prob(taken[..., k]) for k, part in enumerate(self.parts)]
        return stack(each, -1).sum(-1).named("log_prob")

    def entropy(self) -> Tensor:
        """Return the entropy in nats, the sum of those of the parts."""
        return stack([part.entropy() for part in self.parts], -1).sum(-1)

    @property
    def mode(self) -> Tensor:
        """The most probable action of every part."""
        return stack([part.mode for part in self.parts], -1)

    def _kl(self, other: Distribution) -> Tensor:
        pairs = zip(self.parts, cast(MultiDiscrete, other).parts, strict=True)
        return stack([mine.kl(yours) for mine, yours in pairs], -1).sum(-1)


class Bernoulli(Distribution):
    """Independent switches, each on with the probability ``sigmoid(logits)``.

    Shapes: logits (..., n); actions (..., n), int32 0 or 1.

    >>> import ostinato as ot
    >>> from ostinato import rl
    >>> t = ot.dims("t")
    >>> rl.Bernoulli(ot.input("logits", shape=(4,), over=t)).sample()
    <action: int32[4] over (t)>
    """

    def __init__(self, logits: Tensor) -> None:
        self.logits = _with_axis(logits)

    def sample(self) -> Sample:
        """Return a draw for every switch."""
        drawn = random.bernoulli(sigmoid(self.logits)).cast("int32")
        return Sample(drawn.named("action"), self)

    def log_prob(self, action: object) -> Tensor:
        """Return the log-probability of all switches together; what is not 0 is on."""
        is_on = as_tensor(action) != 0
        return -softplus(where(is_on, -self.logits, self.logits)).sum(-1).named("log_prob")

    def entropy(self) -> Tensor:
        """Return the entropy in nats, the sum of those of the switches."""
        return (softplus(self.logits) - self.logits * sigmoid(self.logits)).sum(-1)

    @property
    def mode(self) -> Tensor:
        """Each switch on where that is more probable."""
        return (self.logits > 0.0).cast("int32")

    def _kl(self, other: Distribution) -> Tensor:
        mine, yours = self.logits, cast(Bernoulli, other).logits
        return (sigmoid(mine) * (mine - yours) - softplus(mine) + softplus(yours)).sum(-1)
