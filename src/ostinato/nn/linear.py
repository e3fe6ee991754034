"""The affine layer."""

from __future__ import annotations

from ostinato.language.kinds import Count
from ostinato.language.recurrent import Over
from ostinato.language.tensor import Tensor
from ostinato.nn.init import Initializer, lecun_normal, zeros
from ostinato.nn.module import Module, parameter


class Linear(Module):
    """``x @ weight + bias``, or without the bias.

    Shapes: x (..., inputs) -> (..., outputs); weight (inputs, outputs), bias (outputs,).

    >>> import ostinato as ot
    >>> from ostinato import nn
    >>> i, t = ot.dims("i t")
    >>> layer = nn.Linear(4, 2, over=i)
    >>> layer(ot.input("x", shape=(4,), over=t))
    <float32[2] over (i, t)>
    """

    def __init__(
        self,
        inputs: Count,
        outputs: Count,
        over: Over = (),
        *,
        bias: bool = True,
        init: Initializer = lecun_normal,
        name: str = "linear",
    ) -> None:
        self.weight: Tensor = parameter(f"{name}_weight", (inputs, outputs), init, over)
        self.bias: Tensor | None = None
        if bias:
            self.bias = parameter(f"{name}_bias", (outputs,), zeros, over)

    def __call__(self, x: Tensor) -> Tensor:
        out = x @ self.weight
        return out if self.bias is None else out + self.bias
