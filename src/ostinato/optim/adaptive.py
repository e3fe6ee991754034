"""Steps divided by the size of past gradients: Adagrad, RMSProp, Adam, AdamW, LAMB."""

from __future__ import annotations

import math
from dataclasses import KW_ONLY, dataclass

from ostinato.language.functions.basic import expm1, logical_and, maximum, sqrt, square, where
from ostinato.language.kinds import Fraction, NonNegative
from ostinato.language.recurrent import Recurrent
from ostinato.language.tensor import Tensor
from ostinato.optim.clip import global_norm
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


@dataclass(eq=False, repr=False)
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

    learning_rate: Rate = 1e-2
    eps: NonNegative = 1e-10
    _: KW_ONLY
    rate_decay: Tensor | NonNegative = 0.0
    start: Tensor | NonNegative = 0.0
    weight_decay: Tensor | NonNegative = 0.0

    def step(self, parameter: Recurrent, gradient: Tensor) -> Tensor:
        slope = decayed(gradient, parameter, self.weight_decay)
        total = moment(parameter, "squares", self.start)
        following = total + square(slope)
        advance(total, following)
        rate = rate_of(self.learning_rate, parameter)
        if not is_zero(self.rate_decay):
            rate = rate / (1 + updates(parameter) * self.rate_decay)
        return parameter - rate * slope / (sqrt(following) + self.eps)


@dataclass(eq=False, repr=False)
class RMSProp(Optimizer):
    """``w - rate * g / (sqrt(s) + eps)`` with ``s`` the running mean of ``g**2``, as in PyTorch.

    ``centered`` divides by the standard deviation instead: ``sqrt(s - m**2)`` with ``m`` the
    running mean of ``g``. With momentum the quotients add up as in `SGD`. The gradient includes
    ``weight_decay * w``. The rate may be a tensor, such as an input, or a schedule.

    Source: Tieleman and Hinton 2012, Neural networks for machine learning, lecture 6.5; the
    centred form is Graves 2013, Generating sequences with recurrent neural networks, equation 40.

    >>> import ostinato as ot
    >>> from ostinato import optim
    >>> i = ot.dims("i")
    >>> w = ot.recurrent("w", over=i)
    >>> w[0] = 4.0
    >>> optim.RMSProp(1.0, decay=0.75).minimize(8 * w, [w])
    >>> ot.Program(w=w).interpret(I=2)["w"].tolist()
    [4.0, 2.0]
    """

    learning_rate: Rate = 1e-2
    decay: Fraction = 0.99
    eps: NonNegative = 1e-8
    _: KW_ONLY
    momentum: Fraction = 0.0
    centered: bool = False
    weight_decay: Tensor | NonNegative = 0.0

    def step(self, parameter: Recurrent, gradient: Tensor) -> Tensor:
        slope = decayed(gradient, parameter, self.weight_decay)
        spread = self._running(parameter, "square", square(slope))
        if self.centered:
            # Rounding may leave a variance of 0 below 0.
            spread = maximum(spread - square(self._running(parameter, "mean", slope)), 0)
        change = slope / (sqrt(spread) + self.eps)
        if self.momentum != 0.0:
            velocity = moment(parameter, "velocity")
            change = self.momentum * velocity + change
            advance(velocity, change)
        return parameter - rate_of(self.learning_rate, parameter) * change

    def _running(self, parameter: Recurrent, name: str, value: Tensor) -> Tensor:
        average = moment(parameter, name)
        following = self.decay * average + (1 - self.decay) * value
        advance(average, following)
        return following


@dataclass(eq=False, repr=False)
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

    learning_rate: Rate = 1e-3
    betas: tuple[Fraction, Fraction] = (0.9, 0.999)
    eps: NonNegative = 1e-8
    _: KW_ONLY
    weight_decay: Tensor | NonNegative = 0.0

    def step(self, parameter: Recurrent, gradient: Tensor) -> Tensor:
        rate = rate_of(self.learning_rate, parameter)
        return parameter - self._change(
            parameter, decayed(gradient, parameter, self.weight_decay), rate
        )

    def _change(self, parameter: Recurrent, gradient: Tensor, rate: Tensor | float) -> Tensor:
        (mean, variance), (bias1, bias2) = moments(parameter, gradient, self.betas)
        spread = sqrt(variance) * (1.0 / sqrt(bias2)) + self.eps
        return rate / bias1 * mean / spread


@dataclass(eq=False, repr=False)
class AdamW(Adam):
    """Adam whose parameters also shrink by ``1 - rate * weight_decay``, as in PyTorch.

    Source: Loshchilov and Hutter 2019, Decoupled weight decay regularization, algorithm 2.

    >>> import ostinato as ot
    >>> from ostinato import optim
    >>> i = ot.dims("i")
    >>> w = ot.recurrent("w", over=i)
    >>> w[0] = 4.0
    >>> optim.AdamW(0.5, weight_decay=1.0).update([w], [0 * w])
    >>> ot.Program(w=w).interpret(I=3)["w"].tolist()
    [4.0, 2.0, 1.0]
    """

    _: KW_ONLY
    weight_decay: Tensor | NonNegative = 1e-2

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


@dataclass(eq=False, repr=False)
class LAMB(Optimizer):
    """Adam's direction plus ``weight_decay * w``, scaled to the size of each parameter tensor.

    The step of a tensor has length ``rate * |w|``; where either length is 0 the direction is used
    as it is. The rate may be a tensor, such as an input, or a schedule.

    Source: You et al. 2020, Large batch optimization for deep learning, algorithm 2.

    >>> import ostinato as ot
    >>> from ostinato import optim
    >>> i = ot.dims("i")
    >>> w = ot.recurrent("w", over=i)
    >>> w[0] = 4.0
    >>> optim.LAMB(0.5).minimize(100 * w, [w])
    >>> ot.Program(w=w).interpret(I=3)["w"].round(5).tolist()
    [4.0, 2.0, 1.0]
    """

    learning_rate: Rate = 1e-3
    betas: tuple[Fraction, Fraction] = (0.9, 0.999)
    eps: NonNegative = 1e-6
    _: KW_ONLY
    weight_decay: Tensor | NonNegative = 0.0

    def step(self, parameter: Recurrent, gradient: Tensor) -> Tensor:
        (mean, variance), (bias1, bias2) = moments(parameter, gradient, self.betas)
        direction = mean / bias1 / (sqrt(variance / bias2) + self.eps)
        if not is_zero(self.weight_decay):
            direction = direction + self.weight_decay * parameter
        size, length = global_norm([parameter]), global_norm([direction])
        trust = where(logical_and(size > 0, length > 0), size / length, 1.0)
        return parameter - rate_of(self.learning_rate, parameter) * trust * direction
