"""Initial values of parameters: functions of a shape and the dimensions they are drawn over.

The last axis of a shape is what a layer puts out, the axes before it are what goes in.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from ostinato.language import random
from ostinato.language.functions import basic as functions
from ostinato.language.functions.basic import sqrt, square
from ostinato.language.kinds import Count, Finite, NonNegative
from ostinato.language.recurrent import Over
from ostinato.language.surface import declare
from ostinato.language.tensor import Tensor
from ostinato.pdg.errors import ShapeError
from ostinato.provenance.place import place

# Odd polynomials x*(a + b*x**2 + c*x**4) of the singular values. The first multiplies small values
# by up to 3.4 and keeps large ones near 1: 11 times lift everything above 1e-6 to at least 0.7. The
# second is flat at 1: 4 times end at float32 rounding.
LIFT = (3.4445, -4.7750, 2.0315)
POLISH = (15 / 8, -10 / 8, 3 / 8)
POLYNOMIALS = (LIFT,) * 11 + (POLISH,) * 4


def orthonormal(rows: int, columns: int, over: Over = ()) -> Tensor:
    """Return a uniformly random matrix whose rows, or columns if fewer, are orthonormal.

    It is the orthogonal factor of the polar decomposition of a Gaussian matrix, by iteration. A
    matrix with a singular value under a millionth of its length, about one of 10,000 of size 64,
    is left short of orthogonal in that one direction.

    Shapes: (rows, columns).
    Source: Björck and Bowie 1971, An iterative algorithm for computing the best estimate of an
    orthogonal matrix; Jordan et al. 2024, Muon, for the first polynomial.
    """
    x = random.normal((min(rows, columns), max(rows, columns)), over=over)
    x = x / sqrt(square(x).sum())
    for a, b, c in POLYNOMIALS:
        gram = x @ x.T
        x = a * x + (b * gram + c * (gram @ gram)) @ x
    return x if rows <= columns else x.T


Initializer = Callable[[Sequence[int], Over], Tensor]


def zeros(shape: Sequence[Count], over: Over = ()) -> Tensor:
    """Return zeros; ``over`` changes nothing."""
    return functions.zeros(shape)


def ones(shape: Sequence[Count], over: Over = ()) -> Tensor:
    """Return ones; ``over`` changes nothing."""
    return functions.ones(shape)


def constant(value: Tensor | float) -> Initializer:
    """Return the initializer to one value, or to a tensor that broadcasts, such as an input.

    >>> import ostinato as ot
    >>> from ostinato import nn
    >>> weight = ot.input("pretrained", shape=(4, 2))
    >>> nn.Linear(4, 2, over=ot.dims("i"), init=nn.init.constant(weight)).weight
    <linear_weight: float32[4, 2] over (i)>
    """
    return lambda shape, over: functions.full(tuple(shape), value)


def normal(std: NonNegative = 1.0, mean: Finite = 0.0) -> Initializer:
    """Return the initializer to Gaussian draws."""
    return lambda shape, over: random.normal(shape, mean, std, over=over)


def uniform(low: Finite = 0.0, high: Finite = 1.0) -> Initializer:
    """Return the initializer to draws from [low, high)."""
    return lambda shape, over: random.uniform(shape, low, high, over=over)


def fan_in(shape: Sequence[Count]) -> int:
    """Return how many inputs an output has: the product of all axes but the last."""
    return math.prod(shape[:-1])


def fan_out(shape: Sequence[Count]) -> int:
    """Return how many outputs there are: the size of the last axis."""
    return shape[-1] if shape else 1


def lecun_normal(shape: Sequence[Count], over: Over = ()) -> Tensor:
    """Return Gaussian draws of variance 1 / fan_in, which keeps the variance of a tanh layer.

    Source: LeCun et al. 1998, Efficient BackProp, section 4.6.
    """
    return random.normal(shape, std=1 / math.sqrt(fan_in(shape)), over=over)


def he_normal(shape: Sequence[Count], over: Over = ()) -> Tensor:
    """Return Gaussian draws of variance 2 / fan_in, which keeps the variance of a relu layer.

    Also called Kaiming.
    Source: He et al. 2015, Delving deep into rectifiers, equation 10.
    """
    return random.normal(shape, std=math.sqrt(2 / fan_in(shape)), over=over)


def he_uniform(shape: Sequence[Count], over: Over = ()) -> Tensor:
    """Return uniform draws of variance 2 / fan_in; also called Kaiming.

    Source: He et al. 2015, Delving deep into rectifiers, equation 10.
    """
    limit = math.sqrt(6 / fan_in(shape))
    return random.uniform(shape, -limit, limit, over=over)


def glorot_normal(shape: Sequence[Count], over: Over = ()) -> Tensor:
    """Return Gaussian draws of variance 2 / (fan_in + fan_out); also called Xavier.

    Source: Glorot and Bengio 2010, Understanding the difficulty of training, equation 12.
    """
    return random.normal(shape, std=math.sqrt(2 / (fan_in(shape) + fan_out(shape))), over=over)


def glorot_uniform(shape: Sequence[Count], over: Over = ()) -> Tensor:
    """Return uniform draws of variance 2 / (fan_in + fan_out); also called Xavier.

    Source: Glorot and Bengio 2010, Understanding the difficulty of training, equation 16.
    """
    limit = math.sqrt(6 / (fan_in(shape) + fan_out(shape)))
    return random.uniform(shape, -limit, limit, over=over)


def fan_in_uniform(shape: Sequence[Count], over: Over = ()) -> Tensor:
    """Return uniform draws up to 1 / sqrt(fan_in), the default of PyTorch's linear layers."""
    limit = 1 / math.sqrt(fan_in(shape))
    return random.uniform(shape, -limit, limit, over=over)


def orthogonal(gain: Finite = 1.0) -> Initializer:
    """Return the initializer to ``gain`` times a random matrix with orthonormal rows or columns.

    The axes before the last count as one. Such layers keep lengths, and so the size of gradients.

    Errors: ShapeError for a shape of fewer than two axes.
    Source: Saxe et al. 2014, Exact solutions to the nonlinear dynamics of learning, section 3.

    >>> import ostinato as ot
    >>> from ostinato import nn
    >>> w = ot.Program(w=nn.init.orthogonal()((3, 2), ())).interpret()["w"]
    >>> abs(w.T @ w).round(5).tolist()
    [[1.0, 0.0], [0.0, 1.0]]
    """

    def draw(shape: Sequence[int], over: Over = ()) -> Tensor:
        if len(shape) < 2:
            fact = f"an orthogonal tensor of shape {tuple(shape)}"
            raise ShapeError(fact, "Give a shape of at least two axes.", place())
        return gain * orthonormal(fan_in(shape), shape[-1], over).reshape(tuple(shape))

    return draw


def scaled(initializer: Initializer, scale: Tensor | Finite) -> Initializer:
    """Return an initializer whose values are multiplied by a number."""
    return lambda shape, over: initializer(shape, over) * scale


declare(__name__)
