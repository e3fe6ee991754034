"""Running means and variances, by which numbers get a common size."""

from __future__ import annotations

from ostinato.language.carry import carry
from ostinato.language.dims import Dimension
from ostinato.language.functions.basic import clip, ones, zeros
from ostinato.language.functions.elementary import rsqrt
from ostinato.language.kinds import Limit
from ostinato.language.recurrent import Over
from ostinato.language.tensor import Tensor, as_tensor
from ostinato.nn.module import Module

EPS = 1e-8


class Moments(Module):
    """The mean and the variance of all rows of all iterations so far, along every column.

    At iteration ``i`` they are those of the iterations before, and 0 and 1 at the first; `learn`
    says which rows an iteration adds. A call gives ``(x - mean) / std``, clipped to ``limit``.

    Shapes: x (..., n) -> (..., n).
    Source: Chan et al. 1979, Updating formulae and a pairwise algorithm for computing sample
    variances.

    >>> import ostinato as ot
    >>> from ostinato import rl
    >>> b, i = ot.dims("b i")
    >>> x = ot.input("x", shape=(1,), over=(b, i))
    >>> moments = rl.Moments(1, i)
    >>> moments.learn(x, b)
    >>> found = ot.Program(mean=moments.mean).interpret(x=[[[1.0], [5.0]], [[3.0], [7.0]]])
    >>> found["mean"].ravel().tolist()
    [0.0, 2.0]
    """

    def __init__(
        self, size: int, i: Dimension, *, each: Over = (), limit: Limit = 10.0, name: str = "seen"
    ) -> None:
        self._limit = limit
        self.mean = carry(f"{name}_mean", zeros(size), over=i, each=each)
        self.variance = carry(f"{name}_variance", ones(size), over=i, each=each)
        self.count = carry(f"{name}_count", 0.0, over=i, each=each)

    def learn(self, x: Tensor, *dims: Dimension) -> None:
        """Say which rows an iteration adds: those at all points of some dimensions."""
        rows = x.at(**{dim.name: slice(None) for dim in dims}).cast("float32")
        axes = tuple(range(len(dims)))
        mean, variance = rows.mean(axes), rows.var(axes)
        count = as_tensor(1.0)
        for dim in dims:
            count = count * dim.size
        total = self.count + count
        apart = mean - self.mean
        spread = self.variance * self.count + variance * count
        spread = spread + apart * apart * (self.count * count / total)
        self.mean.step(self.mean + apart * (count / total))
        self.variance.step(spread / total)
        self.count.step(total)

    def __call__(self, x: Tensor) -> Tensor:
        scaled = (x - self.mean) * rsqrt(self.variance + EPS)
        return clip(scaled, -self._limit, self._limit)
