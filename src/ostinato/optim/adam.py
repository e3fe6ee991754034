"""Adam, and Adam with decoupled weight decay."""

from __future__ import annotations

import math

from ostinato.language.functions.basic import expm1, sqrt, square
from ostinato.language.kinds import Fraction, NonNegative
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


class Adam(Optimizer):
    """Adam with bias correction, as in PyTorch.

    The gradient includes ``weight_decay * w``; `AdamW` decays the parameter itself. The rate may be
    a tensor, such as an input, or a schedule.

    Source: Kingma and Ba 2015, Adam, algorithm 1.

    >>> import ostinato as ot
    >>> from ostinato import optim
    >>> i = ot.dims("i")
    >>> w = ot.recurrent("w", over=i)
    >>> w[0] = 1.0
    >>> optim.Adam(0.25).minimize(100 * w, [w])
    >>> ot.Program(w=w).interpret(I=3)["w"].round(5).tolist()
    [1.0, 0.75, 0.5]
    """

    def __init__(
        self,
        learning_rate: Rate = 1e-3,
        betas: tuple[Fraction, Fraction] = (0.9, 0.999),
        eps: NonNegative = 1e-8,
        *,
        weight_decay: Tensor | NonNegative = 0.0,
    ) -> None:
        self.learning_rate = learning_rate
        self.betas = betas
        self.eps = eps
        self.weight_decay = weight_decay

    def step(self, parameter: Recurrent, gradient: Tensor) -> Tensor:
        rate = rate_of(self.learning_rate, parameter)
        return parameter - self._change(
            parameter, decayed(gradient, parameter, self.weight_decay), rate
        )

    def _change(self, parameter: Recurrent, gradient: Tensor, rate: Tensor | float) -> Tensor:
        (mean, variance), (bias1, bias2) = moments(parameter, gradient, self.betas)
        spread = sqrt(variance) * (1.0 / sqrt(bias2)) + self.eps
        return rate / bias1 * mean / spread


class AdamW(Adam):
    """Adam whose parameters also shrink by ``1 - rate * weight_decay``, as in PyTorch.

    Source: Loshchilov and Hutter 2019, Decoupled weight decay regularization, algorithm 2.

    >>> import ostinato as ot
    >>> from ostinato import optim
    >>> i = ot.dims("i")
    >>> w = ot.recurrent("w", over=i)
    >>> w[0] = 4.0
    >>> optim.AdamW(0.5, weight_decay=1.0).minimize(0 * w, [w])
    >>> ot.Program(w=w).interpret(I=3)["w"].tolist()
    [4.0, 2.0, 1.0]
    """

    def __init__(
        self,
        learning_rate: Rate = 1e-3,
        betas: tuple[Fraction, Fraction] = (0.9, 0.999),
        eps: NonNegative = 1e-8,
        *,
        weight_decay: Tensor | NonNegative = 1e-2,
    ) -> None:
        super().__init__(learning_rate, betas, eps, weight_decay=weight_decay)

    def step(self, parameter: Recurrent, gradient: Tensor) -> Tensor:
        rate = rate_of(self.learning_rate, parameter)
        return shrunk(parameter, rate, self.weight_decay) - self._change(parameter, gradient, rate)


def shrunk(parameter: Recurrent, rate: Tensor | float, weight_decay: Tensor | float) -> Tensor:
    """Return ``parameter * (1 - rate * weight_decay)``: decay that no gradient statistic scales."""
    return parameter if is_zero(weight_decay) else parameter * (1 - rate * weight_decay)


def moments(
    parameter: Recurrent, gradient: Tensor, betas: tuple[float, float]
) -> tuple[tuple[Tensor, Tensor], tuple[Tensor, Tensor]]:
    """Return the running mean and square of a gradient, and what each must be divided by."""
    mean, variance = moment(parameter, "mean"), moment(parameter, "variance")
    beta1, beta2 = betas
    next_mean = beta1 * mean + (1 - beta1) * gradient
    next_variance = beta2 * variance + (1 - beta2) * square(gradient)
    advance(mean, next_mean)
    advance(variance, next_variance)
    count = (updates(parameter) + 1).cast(parameter.dtype)
    return (next_mean, next_variance), (_bias(beta1, count), _bias(beta2, count))


def _bias(beta: float, count: Tensor) -> Tensor:
    """``1 - beta**count``, without the cancellation that costs float32 three digits at 0.999."""
    return -expm1(count * (math.log(beta) if beta else -math.inf))
