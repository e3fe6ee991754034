"""Layers of one point (affine, convolution, embedding, normalisation, dropout), and blocks."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence

from ostinato.language import random
from ostinato.language.dims import Dimension
from ostinato.language.functions import basic as functions
from ostinato.language.functions.basic import silu, sqrt, square, swapaxes, take, where
from ostinato.language.functions.convolution import Padding, PerAxis, conv1d, conv2d, conv3d
from ostinato.language.kinds import Count, Finite, Fraction, NonNegative
from ostinato.language.recurrent import Over
from ostinato.language.tensor import Tensor
from ostinato.nn.init import Initializer, he_normal, lecun_normal, normal, ones, scaled, zeros
from ostinato.nn.module import Module, parameter
from ostinato.nn.state_dict import Weight, below
from ostinato.pdg.errors import OptionError, ShapeError
from ostinato.provenance.place import place


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

    def named_weights(self) -> Iterator[Weight]:
        """The weight, turned, and the bias."""
        yield Weight("weight", self.weight, turned=True)
        if self.bias is not None:
            yield Weight("bias", self.bias)

    def __call__(self, x: Tensor) -> Tensor:
        out = x @ self.weight
        return out if self.bias is None else out + self.bias


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


class Embedding(Module):
    """The row of ``weight`` for each symbol 0, 1, ..., count - 1; others are clamped to these.

    ``h @ embedding.weight.T`` are the logits of a language model that shares its embedding.

    Shapes: symbol (...), integers -> (..., size); weight (count, size).

    >>> import ostinato as ot
    >>> from ostinato import nn
    >>> i, t = ot.dims("i t")
    >>> embedding = nn.Embedding(256, 16, over=i)
    >>> embedding(ot.input("byte", dtype="int32", over=t))
    <embedding: float32[16] over (i, t)>
    """

    def __init__(
        self,
        count: Count,
        size: Count,
        over: Over = (),
        *,
        init: Initializer | None = None,
        name: str = "embedding",
    ) -> None:
        self._name = name
        self.weight: Tensor = parameter(f"{name}_weight", (count, size), init or normal(), over)

    def __call__(self, symbol: Tensor) -> Tensor:
        return take(self.weight, symbol, 0).named(self._name)


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


def dropout(x: Tensor, rate: Tensor | Fraction, over: Over | None = None) -> Tensor:
    """Return ``x`` with elements set to 0 with probability ``rate``, and the others scaled up.

    Draws are independent at every point of ``over`` (default: the dimensions of ``x``) and in every
    element, and belong to this call: a gradient sees the same ones. Use the value without dropout
    where nothing is learnt, or a tensor ``rate`` that is 0 there.

    Shapes: x (...) -> (...).
    Source: Srivastava et al. 2014, Dropout, section 10 (the scaling at training time).

    >>> import ostinato as ot
    >>> from ostinato import nn
    >>> x = ot.ones(1000)
    >>> y = ot.Program(y=nn.dropout(x, 0.5)).interpret()["y"]
    >>> sorted(set(y.tolist())), 400 < sum(y.tolist()) / 2 < 600
    ([0.0, 2.0], True)
    """
    dims = [Dimension(dim) for dim in x.over] if over is None else over
    kept = random.uniform(x.shape, over=dims) >= rate
    return where(kept, x / (1.0 - rate), 0.0)


Activation = Callable[[Tensor], Tensor]

# Each activation with the initializer that keeps the variance of its layer.
ACTIVATIONS: dict[str, tuple[Activation, Initializer]] = {
    "tanh": (functions.tanh, lecun_normal),
    "relu": (functions.relu, he_normal),
    "sigmoid": (functions.sigmoid, lecun_normal),
    "silu": (functions.silu, he_normal),
    "gelu": (functions.gelu, he_normal),
}


class MLP(Module):
    """Affine layers with an activation between them.

    ``output_scale`` multiplies the initial weights of the last layer: a policy that starts near
    uniform explores (0.01), a regression starts at full scale (1). The activation "gelu" is that in
    the form of tanh: of PyTorch it is ``GELU(approximate="tanh")``.

    Shapes: x (..., inputs) -> (..., outputs).
    Errors: OptionError for an unknown activation.

    >>> import ostinato as ot
    >>> from ostinato import nn
    >>> i, t = ot.dims("i t")
    >>> policy = nn.MLP(4, [64, 64], 2, over=i)
    >>> policy(ot.input("x", shape=(4,), over=t))
    <float32[2] over (i, t)>
    """

    def __init__(
        self,
        inputs: Count,
        hidden: Sequence[Count],
        outputs: Count,
        over: Over = (),
        *,
        activation: str = "tanh",
        output_scale: Finite = 1.0,
        name: str = "mlp",
    ) -> None:
        if activation not in ACTIVATIONS:
            known = ", ".join(ACTIVATIONS)
            raise OptionError(f"activation `{activation}`", f"Use one of {known}.", place())
        self._activation, initializer = ACTIVATIONS[activation]
        self._name = name
        sizes = (inputs, *hidden, outputs)
        last = len(sizes) - 2
        self.layers = tuple(
            Linear(
                *pair,
                over,
                init=scaled(lecun_normal, output_scale) if k == last else initializer,
                name=f"{name}_{k}",
            )
            for k, pair in enumerate(zip(sizes, sizes[1:], strict=False))
        )

    def named_weights(self) -> Iterator[Weight]:
        """The layers as a ``Sequential`` has them, which counts the activations between them."""
        for k, layer in enumerate(self.layers):
            yield from below(str(2 * k), layer.named_weights())

    def __call__(self, x: Tensor) -> Tensor:
        for k, layer in enumerate(self.layers[:-1]):
            x = self._activation(layer(x)).named(f"{self._name}_{k}")
        return self.layers[-1](x)


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
