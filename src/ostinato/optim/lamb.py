"""LAMB."""

from __future__ import annotations

from ostinato.language.functions.basic import logical_and, sqrt, where
from ostinato.language.kinds import Fraction, NonNegative
from ostinato.language.recurrent import Recurrent
from ostinato.language.tensor import Tensor
from ostinato.optim.adam import moments
from ostinato.optim.clip import global_norm
from ostinato.optim.optimizer import Optimizer, Rate, is_zero, rate_of


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

    def __init__(
        self,
        learning_rate: Rate = 1e-3,
        betas: tuple[Fraction, Fraction] = (0.9, 0.999),
        eps: NonNegative = 1e-6,
        *,
        weight_decay: Tensor | NonNegative = 0.0,
    ) -> None:
        self.learning_rate = learning_rate
        self.betas = betas
        self.eps = eps
        self.weight_decay = weight_decay

    def step(self, parameter: Recurrent, gradient: Tensor) -> Tensor:
        (mean, variance), (bias1, bias2) = moments(parameter, gradient, self.betas)
        direction = mean / bias1 / (sqrt(variance / bias2) + self.eps)
        if not is_zero(self.weight_decay):
            direction = direction + self.weight_decay * parameter
        size, length = global_norm([parameter]), global_norm([direction])
        trust = where(logical_and(size > 0, length > 0), size / length, 1.0)
        return parameter - rate_of(self.learning_rate, parameter) * trust * direction
