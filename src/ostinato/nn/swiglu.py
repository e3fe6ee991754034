"""The gated feed-forward block."""

from __future__ import annotations

from ostinato.language.functions.basic import silu
from ostinato.language.kinds import Count
from ostinato.language.recurrent import Over
from ostinato.language.tensor import Tensor
from ostinato.nn.linear import Linear
from ostinato.nn.module import Module


class SwiGLU(Module):
    """``(silu(x @ gate) * (x @ up)) @ down``, without biases.

    Shapes: x (..., size) -> (..., size); gate and up (size, hidden), down (hidden, size).
    Source: Shazeer 2020, GLU variants improve transformer, equation 6.

    >>> import ostinato as ot
    >>> from ostinato import nn
    >>> i, t = ot.dims("i t")
    >>> nn.SwiGLU(16, 64, over=i)(ot.input("x", shape=(16,), over=t))
    <float32[16] over (i, t)>
    """

    def __init__(
        self, size: Count, hidden: Count, over: Over = (), *, name: str = "swiglu"
    ) -> None:
        self.gate = Linear(size, hidden, over, bias=False, name=f"{name}_gate")
        self.up = Linear(size, hidden, over, bias=False, name=f"{name}_up")
        self.down = Linear(hidden, size, over, bias=False, name=f"{name}_down")

    def __call__(self, x: Tensor) -> Tensor:
        return self.down(silu(self.gate(x)) * self.up(x))
