"""Activation functions beside `relu`, `gelu`, `sigmoid`, `silu` and `softplus`."""

from __future__ import annotations

from ostinato.language.functions.basic import abs as absolute
from ostinato.language.functions.basic import clip, expm1, softplus, tanh, where
from ostinato.language.tensor import Tensor


def elu(x: Tensor, alpha: float = 1.0) -> Tensor:
    """Return ``x`` above 0, else ``alpha * (exp(x) - 1)``.

    Source: Clevert et al. 2016, Exponential linear units.
    """
    is_above = x > 0
    return where(is_above, x, alpha * expm1(where(is_above, 0.0, x)))


def leaky_relu(x: Tensor, slope: float = 0.01) -> Tensor:
    """Return ``x`` above 0, else ``slope * x``."""
    return where(x > 0, x, slope * x)


def hard_tanh(x: Tensor, low: float = -1.0, high: float = 1.0) -> Tensor:
    """Return ``x`` clipped to [low, high]."""
    return clip(x, low, high)


def mish(x: Tensor) -> Tensor:
    """Return ``x * tanh(softplus(x))``.

    Source: Misra 2020, Mish: a self regularized non-monotonic activation function.
    """
    return x * tanh(softplus(x))


def softsign(x: Tensor) -> Tensor:
    """Return ``x / (1 + abs(x))``."""
    return x / (1.0 + absolute(x))
