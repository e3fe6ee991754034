"""Random numbers: functions of the seed, the call and the point."""

from __future__ import annotations

from collections.abc import Callable

import ostinato as ot
from ostinato.language.recurrent import Over
from ostinato.language.tensor import Tensor
from tests.property.constructs.table import Step, Workshop, construct


@construct("draws")
def draw(w: Workshop, s: Step) -> Tensor:
    unit = ot.random.uniform(over=w.dims, dtype=w.dtype)
    w.draws.append(unit)
    return w.real(s) + unit


@construct("draws")
def draw_of_some_dims(w: Workshop, s: Step) -> Tensor:
    """One number for all points of the dims that are left out."""
    unit = ot.random.uniform((3,), over=(w.dim(s),), dtype=w.dtype)
    w.draws.append(unit)
    return unit.sum() * 0.5 + w.real(s)


@construct("draws")
def normal(w: Workshop, s: Step) -> Tensor:
    x = w.real(s)
    return x + ot.random.normal(over=w.over(x) or w.dims, dtype=w.dtype, std=0.5)


@construct("draws")
def categorical(w: Workshop, s: Step) -> Tensor | None:
    x = w.array(s)
    return None if x is None or x.ndim > 2 else ot.random.categorical(x * 2.0)


@construct("draws")
def dropped(w: Workshop, s: Step) -> Tensor:
    """Values that a draw keeps or drops."""
    x = w.real(s)
    return ot.where(ot.random.uniform(over=w.dims, dtype=w.dtype) < 0.75, x, 0.0)


DISTRIBUTIONS: dict[str, Callable[[Tensor, Over, str], Tensor]] = {
    "exponential": lambda x, over, dtype: ot.random.exponential(scale=0.5, over=over, dtype=dtype),
    "gumbel": lambda x, over, dtype: ot.random.gumbel(over=over, dtype=dtype) * 0.25,
    "laplace": lambda x, over, dtype: ot.random.laplace(scale=0.25, over=over, dtype=dtype),
    "bernoulli": lambda x, over, dtype: ot.random.bernoulli(ot.sigmoid(x)).cast(dtype),
    "integers": lambda x, over, dtype: ot.random.integers(-2, 5, over=over).cast(dtype) * 0.25,
    "gamma": lambda x, over, dtype: ot.random.gamma(ot.abs(x) + 0.5) * 0.25,
    "beta": lambda x, over, dtype: ot.random.beta(ot.abs(x) + 0.5, 1.5),
}


@construct("draws", *DISTRIBUTIONS)
def distributed(w: Workshop, s: Step) -> Tensor:
    x = w.real(s)
    return x * 0.5 + DISTRIBUTIONS[s.op](x, w.over(x), w.dtype)


@construct("draws")
def permuted(w: Workshop, s: Step) -> Tensor | None:
    """A leading axis in random order, another at every point."""
    x = w.array(s)
    if x is None:
        return None
    order = ot.random.permutation(x.node.shape[0].const, over=(w.dim(s),))
    return x.take(order, axis=0)
