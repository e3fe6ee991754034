"""The convolution layer."""

from __future__ import annotations

import math
from collections.abc import Sequence

from ostinato.language.functions.basic import swapaxes
from ostinato.language.functions.convolution import Padding, PerAxis, conv1d, conv2d, conv3d
from ostinato.language.kinds import Count
from ostinato.language.recurrent import Over
from ostinato.language.tensor import Tensor
from ostinato.nn.init import Initializer, lecun_normal, zeros
from ostinato.nn.module import Module, parameter
from ostinato.pdg.errors import ShapeError
from ostinato.provenance.place import place

_CONVOLUTIONS = {1: conv1d, 2: conv2d, 3: conv3d}


class Conv(Module):
    """A convolution along as many last axes as the kernel has, channels first, with a bias.

    Shapes: x (..., inputs, *axes) -> (..., outputs, *axes); weight (outputs, inputs / groups,
    *kernel), bias (outputs,). ``init`` sees (inputs / groups * kernel positions, outputs).

    >>> import ostinato as ot
    >>> from ostinato import nn
    >>> i, t = ot.dims("i t")
    >>> layer = nn.Conv(3, 8, (5, 5), over=i, stride=2)
    >>> layer(ot.input("image", shape=(3, 32, 32), over=t))
    <float32[8, 14, 14] over (i, t)>
    """

    def __init__(
        self,
        inputs: Count,
        outputs: Count,
        kernel: Count | Sequence[Count],
        over: Over = (),
        *,
        stride: PerAxis = 1,
        padding: Padding = "valid",
        dilation: PerAxis = 1,
        groups: Count = 1,
        bias: bool = True,
        init: Initializer = lecun_normal,
        name: str = "conv",
    ) -> None:
        sizes = (kernel,) if isinstance(kernel, int) else tuple(kernel)
        if len(sizes) not in _CONVOLUTIONS or inputs % groups or outputs % groups:
            fact = (
                f"a convolution of {inputs} to {outputs} channels, {groups} groups, kernel {sizes}"
            )
            remedy = "Give 1 to 3 kernel sizes, and channels that the groups divide."
            raise ShapeError(fact, remedy, place())
        self.padding: Padding = padding
        self.stride, self.dilation, self.groups = stride, dilation, groups
        shape = (outputs, inputs // groups, *sizes)

        def drawn(shape: Sequence[int], over: Over = ()) -> Tensor:
            flat = init((math.prod(shape[1:]), shape[0]), over)
            return swapaxes(flat, 0, 1).reshape(tuple(shape))

        self.weight: Tensor = parameter(f"{name}_weight", shape, drawn, over)
        self.bias: Tensor | None = None
        if bias:
            self.bias = parameter(f"{name}_bias", (outputs,), zeros, over)

    def __call__(self, x: Tensor) -> Tensor:
        rank = self.weight.ndim - 2
        conv = _CONVOLUTIONS[rank]
        out = conv(x, self.weight, self.stride, self.padding, self.dilation, self.groups)
        if self.bias is None:
            return out
        return out + self.bias.reshape((-1, *(1,) * rank))
