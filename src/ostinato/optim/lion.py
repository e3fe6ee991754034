"""Lion."""

from __future__ import annotations

from ostinato.language.functions.basic import sign
from ostinato.language.kinds import Fraction, NonNegative
from ostinato.language.recurrent import Recurrent
from ostinato.language.tensor import Tensor
from ostinato.optim.adam import shrunk
from ostinato.optim.optimizer import Optimizer, Rate, advance, moment, rate_of


class Lion(Optimizer):
    """``w - rate * sign(beta1 * m + (1 - beta1) * g)``, one running mean ``m`` per parameter.

    ``m`` decays by ``beta2``. Every element moves by the rate, so rates are three to ten times
    smaller than for Adam. Weight decay is decoupled, as in `AdamW`. The rate may be a tensor, such
    as an input, or a schedule.

    Source: Chen et al. 2023, Symbolic discovery of optimization algorithms, program 1.

    >>> import ostinato as ot
    >>> from ostinato import optim
    >>> i = ot.dims("i")
    >>> w = ot.recurrent("w", over=i)
    >>> w[0] = 1.0
    >>> optim.Lion(0.25).minimize(100 * w, [w])
    >>> ot.Program(w=w).interpret(I=3)["w"].tolist()
    [1.0, 0.75, 0.5]
    """

    def __init__(
        self,
        learning_rate: Rate = 1e-4,
        betas: tuple[Fraction, Fraction] = (0.9, 0.99),
        *,
        weight_decay: Tensor | NonNegative = 0.0,
    ) -> None:
        self.learning_rate = learning_rate
        self.betas = betas
        self.weight_decay = weight_decay

    def step(self, parameter: Recurrent, gradient: Tensor) -> Tensor:
        (beta1, beta2), mean = self.betas, moment(parameter, "mean")
        advance(mean, beta2 * mean + (1 - beta2) * gradient)
        rate = rate_of(self.learning_rate, parameter)
        direction = sign(beta1 * mean + (1 - beta1) * gradient)
        return shrunk(parameter, rate, self.weight_decay) - rate * direction
