"""Long short-term memory."""

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


class LSTMCell(Module):
    """One step of a long short-term memory, as in PyTorch: from an input and a state to the next.

    The state is a record of ``hidden``, which is the output, and ``cell``.

    Shapes: x (..., inputs), hidden and cell (..., hidden) -> the same; input_weight (inputs,
    4 hidden), hidden_weight (hidden, 4 hidden), biases (4 hidden,), in the order input, forget,
    candidate, output.
    Source: Hochreiter and Schmidhuber 1997; with the forget gate of Gers et al. 2000.

    >>> import ostinato as ot
    >>> from ostinato import nn
    >>> b, i = ot.dims("b i")
    >>> cell = nn.LSTMCell(3, 8, over=i)
    >>> state = ot.Record(hidden=ot.zeros(8), cell=ot.zeros(8))
    >>> cell(ot.input("x", shape=(3,), over=b), state).hidden
    <float32[8] over (b, i)>
    """

    def __init__(
        self, inputs: Count, hidden: Count, over: Over = (), *, name: str = "lstm"
    ) -> None:
        limit = 1 / math.sqrt(hidden)
        draw = uniform(-limit, limit)
        self.hidden = hidden
        self.input_weight: Tensor = parameter(
            f"{name}_input_weight", (inputs, 4 * hidden), draw, over
        )
        self.hidden_weight: Tensor = parameter(
            f"{name}_hidden_weight", (hidden, 4 * hidden), draw, over
        )
        self.input_bias: Tensor = parameter(f"{name}_input_bias", (4 * hidden,), draw, over)
        self.hidden_bias: Tensor = parameter(f"{name}_hidden_bias", (4 * hidden,), draw, over)

    def __call__(self, x: Tensor, state: Record) -> Record:
        n = self.hidden
        entering = x @ self.input_weight + self.input_bias
        gates = entering + state.hidden @ self.hidden_weight + self.hidden_bias
        write, forget, read = (sigmoid(gates[..., k * n : (k + 1) * n]) for k in (0, 1, 3))
        candidate = tanh(gates[..., 2 * n : 3 * n])
        cell = forget * state.cell + write * candidate
        return Record(hidden=read * tanh(cell), cell=cell)


class LSTM(Module):
    """A long short-term memory along a dimension, trained through time.

    ``start`` is the state before the first step (default: 0). Where the boolean ``reset`` is true
    the state starts again. ``reverse`` runs from the last step to the first.

    Shapes: x (..., inputs) over ``t`` -> a record of hidden and cell (..., hidden) over ``t``.

    >>> import ostinato as ot
    >>> from ostinato import nn
    >>> b, i, t = ot.dims("b i t")
    >>> states = nn.LSTM(3, 8, over=i)(ot.input("x", shape=(3,), over=(b, t)), t)
    >>> states.hidden
    <lstm_hidden: float32[8] over (b, i, t)>
    """

    def __init__(
        self, inputs: Count, hidden: Count, over: Over = (), *, name: str = "lstm"
    ) -> None:
        self.cell = LSTMCell(inputs, hidden, over, name=name)
        self._name = name

    def __call__(
        self,
        x: Tensor,
        t: Dimension,
        start: Record | None = None,
        *,
        reset: Tensor | None = None,
        reverse: bool = False,
    ) -> Record:
        size = self.cell.hidden
        first = Record(hidden=zeros(size), cell=zeros(size)) if start is None else start
        return unroll(self.cell, x, t, first, reset=reset, reverse=reverse, name=self._name)
