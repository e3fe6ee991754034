"""Adagrad."""

from __future__ import annotations

from ostinato.language.functions.basic import sqrt, square
from ostinato.language.kinds import NonNegative
from ostinato.language.recurrent import Recurrent
from ostinato.language.tensor import Tensor
from ostinato.optim.optimizer import (
    Optimizer,
    Rate,
    advance,
    decayed,
    is_zero,
    moment,
    rate_of,
    updates,
)


class Adagrad(Optimizer):
    """``w - rate * g / (sqrt(s) + eps)`` with ``s`` the sum of ``g**2`` so far, as in PyTorch.

    ``s`` starts at ``start``, and the rate of update ``i`` is divided by ``1 + i * rate_decay``.
    The gradient includes ``weight_decay * w``. The rate may be a tensor, such as an input, or a
    schedule.

    Source: Duchi et al. 2011, Adaptive subgradient methods, figure 1.

    >>> import ostinato as ot
    >>> from ostinato import optim
    >>> i = ot.dims("i")
    >>> w = ot.recurrent("w", over=i)
    >>> w[0] = 4.0
    >>> optim.Adagrad(1.0).minimize(8 * w, [w])
    >>> ot.Program(w=w).interpret(I=2)["w"].tolist()
    [4.0, 3.0]
    """

    def __init__(
        self,
        learning_rate: Rate = 1e-2,
        eps: NonNegative = 1e-10,
        *,
        rate_decay: Tensor | NonNegative = 0.0,
        start: Tensor | NonNegative = 0.0,
        weight_decay: Tensor | NonNegative = 0.0,
    ) -> None:
        self.learning_rate = learning_rate
        self.eps = eps
        self.rate_decay = rate_decay
        self.start = start
        self.weight_decay = weight_decay

    def step(self, parameter: Recurrent, gradient: Tensor) -> Tensor:
        slope = decayed(gradient, parameter, self.weight_decay)
        total = moment(parameter, "squares", self.start)
        following = total + square(slope)
        advance(total, following)
        rate = rate_of(self.learning_rate, parameter)
        if not is_zero(self.rate_decay):
            rate = rate / (1 + updates(parameter) * self.rate_decay)
        return parameter - rate * slope / (sqrt(following) + self.eps)
