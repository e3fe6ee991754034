"""The multi-layer perceptron, and the gated feed-forward block."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ostinato.language.functions import basic as functions
from ostinato.language.functions.basic import silu
from ostinato.language.kinds import Count, Finite
from ostinato.language.recurrent import Over
from ostinato.language.tensor import Tensor
from ostinato.nn.init import Initializer, he_normal, lecun_normal, scaled
from ostinato.nn.layers import Linear
from ostinato.nn.module import Module
from ostinato.pdg.errors import OptionError
from ostinato.provenance.place import place

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
    uniform explores (0.01), a regression starts at full scale (1).

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
