"""Initial values of parameters: functions of a shape and the dimensions they are drawn over."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from ostinato import functions, random
from ostinato.recurrent import Over
from ostinato.tensor import Tensor

Initializer = Callable[[Sequence[int], Over], Tensor]


def zeros(shape: Sequence[int], over: Over = ()) -> Tensor:
    """Return zeros; ``over`` changes nothing."""
    return functions.zeros(shape)


def fan_in(shape: Sequence[int]) -> int:
    """Return how many inputs an output has: the product of all axes but the last."""
    return math.prod(shape[:-1])


def lecun_normal(shape: Sequence[int], over: Over = ()) -> Tensor:
    """Return Gaussian draws of variance 1 / fan_in, which keeps the variance of a tanh layer.

    Source: LeCun et al. 1998, Efficient BackProp, section 4.6.
    """
    return random.normal(shape, std=1 / math.sqrt(fan_in(shape)), over=over)


def he_normal(shape: Sequence[int], over: Over = ()) -> Tensor:
    """Return Gaussian draws of variance 2 / fan_in, which keeps the variance of a relu layer.

    Source: He et al. 2015, Delving deep into rectifiers, equation 10.
    """
    return random.normal(shape, std=math.sqrt(2 / fan_in(shape)), over=over)


def glorot_uniform(shape: Sequence[int], over: Over = ()) -> Tensor:
    """Return uniform draws of variance 2 / (fan_in + fan_out).

    Source: Glorot and Bengio 2010, Understanding the difficulty of training, equation 16.
    """
    limit = math.sqrt(6 / (fan_in(shape) + shape[-1]))
    return random.uniform(shape, -limit, limit, over=over)


def fan_in_uniform(shape: Sequence[int], over: Over = ()) -> Tensor:
    """Return uniform draws up to 1 / sqrt(fan_in), the default of PyTorch's linear layers."""
    limit = 1 / math.sqrt(fan_in(shape))
    return random.uniform(shape, -limit, limit, over=over)


def scaled(initializer: Initializer, scale: float) -> Initializer:
    """Return an initializer whose values are multiplied by a number."""
    return lambda shape, over: initializer(shape, over) * scale
