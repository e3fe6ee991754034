"""Stochastic gradient descent."""

from __future__ import annotations

from ostinato.optim.optimizer import Optimizer, advance, moment
from ostinato.recurrent import Recurrent
from ostinato.tensor import Tensor


class SGD(Optimizer):
    """``w - rate * v`` with ``v = momentum * v + gradient``, as in PyTorch.

    The rate may be a tensor, such as an input or a schedule over the iterations.
    """

    def __init__(self, learning_rate: Tensor | float, momentum: float = 0.0) -> None:
        self.learning_rate = learning_rate
        self.momentum = momentum

    def step(self, parameter: Recurrent, gradient: Tensor) -> Tensor:
        if self.momentum == 0.0:
            return parameter - self.learning_rate * gradient
        velocity = moment(parameter, "velocity")
        following = self.momentum * velocity + gradient
        advance(velocity, following)
        return parameter - self.learning_rate * following
