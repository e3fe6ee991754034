"""RMSProp."""

from __future__ import annotations

from ostinato.language.functions.basic import maximum, sqrt, square
from ostinato.language.kinds import Fraction, NonNegative
from ostinato.language.recurrent import Recurrent
from ostinato.language.tensor import Tensor
from ostinato.optim.optimizer import Optimizer, Rate, advance, decayed, moment, rate_of


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

    def __init__(
        self,
        learning_rate: Rate = 1e-2,
        decay: Fraction = 0.99,
        eps: NonNegative = 1e-8,
        *,
        momentum: Fraction = 0.0,
        centered: bool = False,
        weight_decay: Tensor | NonNegative = 0.0,
    ) -> None:
        self.learning_rate = learning_rate
        self.decay = decay
        self.eps = eps
        self.momentum = momentum
        self.centered = centered
        self.weight_decay = weight_decay

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
