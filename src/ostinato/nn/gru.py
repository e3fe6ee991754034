"""Gated recurrent units."""

from __future__ import annotations

import math

from ostinato.language.dims import Dimension
from ostinato.language.functions.basic import sigmoid, tanh, zeros
from ostinato.language.kinds import Count
from ostinato.language.record import Record
from ostinato.language.recurrent import Over
from ostinato.language.tensor import Tensor
from ostinato.nn.init import uniform
from ostinato.nn.module import Module, parameter
from ostinato.nn.unroll import unroll


class GRUCell(Module):
    """One step of a gated recurrent unit, as in PyTorch: from an input and a state to the next.

    ``n + z * (h - n)`` with ``n = tanh(x @ W + b + r * (h @ U + c))`` and the gates ``r`` and ``z``
    sigmoids of such sums.

    Shapes: x (..., inputs), hidden (..., hidden) -> (..., hidden); input_weight (inputs, 3 hidden),
    hidden_weight (hidden, 3 hidden), biases (3 hidden,), in the order r, z, n.
    Source: Cho et al. 2014, Learning phrase representations, section 2.3; the reset after the
    product as in Chung et al. 2014.

    >>> import ostinato as ot
    >>> from ostinato import nn
    >>> b, i = ot.dims("b i")
    >>> cell = nn.GRUCell(3, 8, over=i)
    >>> cell(ot.input("x", shape=(3,), over=b), ot.zeros(8))
    <float32[8] over (b, i)>
    """

    def __init__(self, inputs: Count, hidden: Count, over: Over = (), *, name: str = "gru") -> None:
        limit = 1 / math.sqrt(hidden)
        draw = uniform(-limit, limit)
        self.hidden = hidden
        self.input_weight: Tensor = parameter(
            f"{name}_input_weight", (inputs, 3 * hidden), draw, over
        )
        self.hidden_weight: Tensor = parameter(
            f"{name}_hidden_weight", (hidden, 3 * hidden), draw, over
        )
        self.input_bias: Tensor = parameter(f"{name}_input_bias", (3 * hidden,), draw, over)
        self.hidden_bias: Tensor = parameter(f"{name}_hidden_bias", (3 * hidden,), draw, over)

    def __call__(self, x: Tensor, hidden: Tensor) -> Tensor:
        n = self.hidden
        entering = x @ self.input_weight + self.input_bias
        kept = hidden @ self.hidden_weight + self.hidden_bias
        gates = sigmoid(entering[..., : 2 * n] + kept[..., : 2 * n])
        reset, update = gates[..., :n], gates[..., n:]
        candidate = tanh(entering[..., 2 * n :] + reset * kept[..., 2 * n :])
        return candidate + update * (hidden - candidate)


class GRU(Module):
    """A gated recurrent unit along a dimension, trained through time.

    ``start`` is the state before the first step (default: 0). Where the boolean ``reset`` is true
    the state starts again. ``reverse`` runs from the last step to the first.

    Shapes: x (..., inputs) over ``t`` -> states (..., hidden) over ``t``.

    >>> import ostinato as ot
    >>> from ostinato import nn
    >>> b, i, t = ot.dims("b i t")
    >>> states = nn.GRU(3, 8, over=i)(ot.input("x", shape=(3,), over=(b, t)), t)
    >>> states
    <gru_hidden: float32[8] over (b, i, t)>
    """

    def __init__(self, inputs: Count, hidden: Count, over: Over = (), *, name: str = "gru") -> None:
        self.cell = GRUCell(inputs, hidden, over, name=name)
        self._name = name

    def __call__(
        self,
        x: Tensor,
        t: Dimension,
        start: Tensor | None = None,
        *,
        reset: Tensor | None = None,
        reverse: bool = False,
    ) -> Tensor:
        first = Record(hidden=zeros(self.cell.hidden) if start is None else start)

        def step(x: Tensor, state: Record) -> Record:
            return Record(hidden=self.cell(x, state.hidden))

        return unroll(step, x, t, first, reset=reset, reverse=reverse, name=self._name).hidden
