"""Layers that bring the last axis to a common scale."""

from __future__ import annotations

from ostinato.language.functions.basic import sqrt, square
from ostinato.language.kinds import Count, NonNegative
from ostinato.language.recurrent import Over
from ostinato.language.tensor import Tensor
from ostinato.nn.init import ones, zeros
from ostinato.nn.module import Module, parameter


class LayerNorm(Module):
    """``weight * (x - mean) / sqrt(var + eps) + bias`` along the last axis.

    Shapes: x (..., size) -> (..., size); weight and bias (size,).
    Source: Ba et al. 2016, Layer normalization.

    >>> import ostinato as ot
    >>> from ostinato import nn
    >>> norm = nn.LayerNorm(2)
    >>> ot.Program(y=norm(ot.constant([1.0, 5.0]))).interpret()["y"].round(4).tolist()
    [-1.0, 1.0]
    """

    def __init__(
        self, size: Count, over: Over = (), *, eps: NonNegative = 1e-5, name: str = "layer_norm"
    ) -> None:
        self.weight: Tensor = parameter(f"{name}_weight", (size,), ones, over)
        self.bias: Tensor = parameter(f"{name}_bias", (size,), zeros, over)
        self._eps = eps

    def __call__(self, x: Tensor) -> Tensor:
        centred = x - x.mean(-1, keepdims=True)
        spread = sqrt(square(centred).mean(-1, keepdims=True) + self._eps)
        return centred / spread * self.weight + self.bias


class RMSNorm(Module):
    """``weight * x / sqrt(mean(x**2) + eps)`` along the last axis.

    Shapes: x (..., size) -> (..., size); weight (size,).
    Source: Zhang and Sennrich 2019, Root mean square layer normalization, equation 4.

    >>> import ostinato as ot
    >>> from ostinato import nn
    >>> norm = nn.RMSNorm(2)
    >>> ot.Program(y=norm(ot.constant([3.0, -3.0]))).interpret()["y"].round(4).tolist()
    [1.0, -1.0]
    """

    def __init__(
        self, size: Count, over: Over = (), *, eps: NonNegative = 1e-6, name: str = "rms_norm"
    ) -> None:
        self.weight: Tensor = parameter(f"{name}_weight", (size,), ones, over)
        self._eps = eps

    def __call__(self, x: Tensor) -> Tensor:
        return x / sqrt(square(x).mean(-1, keepdims=True) + self._eps) * self.weight
