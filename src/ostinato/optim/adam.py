"""Adam."""

from __future__ import annotations

import math

from ostinato.functions import expm1, index, sqrt, square
from ostinato.optim.optimizer import Optimizer, advance, iteration, moment
from ostinato.recurrent import Recurrent
from ostinato.tensor import Tensor


class Adam(Optimizer):
    """Adam with bias correction, as in PyTorch.

    The rate may be a tensor, such as an input or a schedule over the iterations.
    Source: Kingma and Ba 2015, Adam, algorithm 1.
    """

    def __init__(
        self,
        learning_rate: Tensor | float = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
    ) -> None:
        self.learning_rate = learning_rate
        self.betas = betas
        self.eps = eps

    def step(self, parameter: Recurrent, gradient: Tensor) -> Tensor:
        mean, variance = moment(parameter, "mean"), moment(parameter, "variance")
        (beta1, beta2), i = self.betas, iteration(parameter)
        next_mean = beta1 * mean + (1 - beta1) * gradient
        next_variance = beta2 * variance + (1 - beta2) * square(gradient)
        advance(mean, next_mean)
        advance(variance, next_variance)
        count = index(i + 1).cast(parameter.dtype)
        rate = self.learning_rate / _bias(beta1, count)
        spread = sqrt(next_variance) * (1.0 / sqrt(_bias(beta2, count))) + self.eps
        return parameter - rate * next_mean / spread


def _bias(beta: float, count: Tensor) -> Tensor:
    """``1 - beta**count``, without the cancellation that costs float32 three digits at 0.999."""
    return -expm1(count * math.log(beta))
