"""Cells, and their application along a dimension: the state is a recurrence."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import cast

from ostinato.language.dims import Dimension
from ostinato.language.functions.basic import broadcast_to, sigmoid, tanh, where, zeros
from ostinato.language.kinds import Count
from ostinato.language.record import Record, matched
from ostinato.language.recurrent import Over, recurrent
from ostinato.language.shown import shown
from ostinato.language.tensor import Tensor
from ostinato.nn.init import uniform
from ostinato.nn.module import Module, parameter
from ostinato.nn.state_dict import Weight
from ostinato.pdg.build import order
from ostinato.pdg.errors import ArgumentError
from ostinato.provenance.place import place

Cell = Callable[[Tensor, Record], Record]


def unroll(
    cell: Cell,
    x: Tensor,
    t: Dimension,
    start: Record,
    *,
    reset: Tensor | None = None,
    fresh: Record | None = None,
    reverse: bool = False,
    name: str = "state",
) -> Record:
    """Return the states of a cell: ``state[t] = cell(x[t], state[t - 1])``, ``start`` before them.

    Where the boolean ``reset`` is true the cell sees ``fresh`` (default: ``start``) in place of the
    state before: the first step of an episode, or of a document. ``reverse`` runs from the last
    step to the first. A gradient of the states is taken through time.

    Shapes: start and fresh broadcast to what ``cell`` returns; over the dimensions of all operands
    and t.

    >>> import ostinato as ot
    >>> from ostinato import nn
    >>> t = ot.dims("t")
    >>> x = ot.input("x", over=t)
    >>> def add(x: ot.Tensor, state: ot.Record) -> ot.Record:
    ...     return ot.Record(total=state.total + x)
    >>> sums = nn.unroll(add, x, t, ot.Record(total=ot.constant(0.0)))
    >>> ot.Program(y=sums.total).interpret(x=[1.0, 2.0, 3.0])["y"].tolist()
    [1.0, 3.0, 6.0]
    """
    # One application whose state is never read says what shape and domain the states have.
    like = cast(object, cell(x, start))
    if not isinstance(like, Record):
        fact = f"the cell of `{name}` returns {shown(like)}"
        raise ArgumentError(fact, "Return an ot.Record with the fields of `start`.", place())
    matched(start, like)
    again = start if fresh is None else fresh
    matched(again, like)
    operands = [x, *start, *like, *(() if reset is None else (reset, *again))]
    over = order({dim for operand in operands for dim in operand.over} | {t.dim})
    state = recurrent(name, over=tuple(map(Dimension, over)), like=like)
    before = state.map(lambda field: field.at(**{t.name: t + 1 if reverse else t - 1}))
    first = t == (t.size - 1 if reverse else 0)
    given = where(first, _spread(start, like), before)
    if reset is not None:
        given = where(reset, _spread(again, like), given)
    state[True] = cell(x, given)
    return state


def _spread(start: Record, like: Record) -> Record:
    """The start in the shapes of the states."""
    return start.combine(like, lambda value, field: broadcast_to(value, field.shape))


class _Gated(Module):
    """The weights of a cell whose gates are affine in its input and in its hidden state."""

    def __init__(self, inputs: Count, hidden: Count, gates: Count, over: Over, name: str) -> None:
        limit = 1 / math.sqrt(hidden)
        draw = uniform(-limit, limit)
        self.hidden = hidden
        self.input_weight: Tensor = parameter(f"{name}_input_weight", (inputs, gates), draw, over)
        self.hidden_weight: Tensor = parameter(f"{name}_hidden_weight", (hidden, gates), draw, over)
        self.input_bias: Tensor = parameter(f"{name}_input_bias", (gates,), draw, over)
        self.hidden_bias: Tensor = parameter(f"{name}_hidden_bias", (gates,), draw, over)

    def named_weights(self) -> Iterator[Weight]:
        """The weights under PyTorch's names, matrices turned."""
        yield Weight("weight_ih", self.input_weight, turned=True)
        yield Weight("weight_hh", self.hidden_weight, turned=True)
        yield Weight("bias_ih", self.input_bias)
        yield Weight("bias_hh", self.hidden_bias)


class GRUCell(_Gated):
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
        super().__init__(inputs, hidden, 3 * hidden, over, name)

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

    ``start`` is the state before the first step (default: 0), such as that which the steps of the
    iteration before ended with. Where the boolean ``reset`` is true, at the first step of an
    episode, the state before is 0. ``reverse`` runs from the last step to the first.

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

    def named_weights(self) -> Iterator[Weight]:
        """Those of the cell, as of the first layer in PyTorch."""
        yield from (w._replace(name=f"{w.name}_l0") for w in self.cell.named_weights())

    def __call__(
        self,
        x: Tensor,
        t: Dimension,
        start: Tensor | None = None,
        *,
        reset: Tensor | None = None,
        reverse: bool = False,
    ) -> Tensor:
        zero = Record(hidden=zeros(self.cell.hidden))
        first = zero if start is None else Record(hidden=start)

        def step(x: Tensor, state: Record) -> Record:
            return Record(hidden=self.cell(x, state.hidden))

        states = unroll(
            step, x, t, first, reset=reset, fresh=zero, reverse=reverse, name=self._name
        )
        return states.hidden


class LSTMCell(_Gated):
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
        super().__init__(inputs, hidden, 4 * hidden, over, name)

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

    ``start`` is the state before the first step (default: 0), such as that which the steps of the
    iteration before ended with. Where the boolean ``reset`` is true, at the first step of an
    episode, the state before is 0. ``reverse`` runs from the last step to the first.

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

    def named_weights(self) -> Iterator[Weight]:
        """Those of the cell, as of the first layer in PyTorch."""
        yield from (w._replace(name=f"{w.name}_l0") for w in self.cell.named_weights())

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
        zero = Record(hidden=zeros(size), cell=zeros(size))
        first = zero if start is None else start
        return unroll(
            self.cell, x, t, first, reset=reset, fresh=zero, reverse=reverse, name=self._name
        )
