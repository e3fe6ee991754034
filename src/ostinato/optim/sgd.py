"""Stochastic gradient descent."""

from __future__ import annotations

from ostinato.language.kinds import Fraction, NonNegative
from ostinato.language.recurrent import Recurrent
from ostinato.language.tensor import Tensor
from ostinato.optim.optimizer import Optimizer, Rate, advance, decayed, moment, rate_of
from ostinato.pdg.errors import OptionError
from ostinato.provenance.place import place


class SGD(Optimizer):
    """``w - rate * v`` with ``v = momentum * v + gradient``, as in PyTorch.

    With ``nesterov`` the step looks ahead: ``w - rate * (gradient + momentum * v)``. The gradient
    includes ``weight_decay * w``. The rate may be a tensor, such as an input, or a schedule.

    Errors: OptionError for ``nesterov`` without momentum.
    Source: Sutskever et al. 2013, On the importance of initialization and momentum.

    >>> import ostinato as ot
    >>> from ostinato import optim
    >>> i = ot.dims("i")
    >>> w = ot.recurrent("w", over=i)
    >>> w[0] = 0.0
    >>> optim.SGD(1.0, momentum=0.5).minimize(w, [w])
    >>> ot.Program(w=w).interpret(I=4)["w"].tolist()
    [0.0, -1.0, -2.5, -4.25]
    """

    def __init__(
        self,
        learning_rate: Rate,
        momentum: Fraction = 0.0,
        *,
        nesterov: bool = False,
        weight_decay: Tensor | NonNegative = 0.0,
    ) -> None:
        if nesterov and momentum == 0.0:
            fact = "SGD looks ahead (nesterov) without momentum"
            raise OptionError(fact, "Give a momentum, such as 0.9.", place())
        self.learning_rate = learning_rate
        self.momentum = momentum
        self.nesterov = nesterov
        self.weight_decay = weight_decay

    def step(self, parameter: Recurrent, gradient: Tensor) -> Tensor:
        change = decayed(gradient, parameter, self.weight_decay)
        if self.momentum != 0.0:
            velocity = moment(parameter, "velocity")
            following = self.momentum * velocity + change
            advance(velocity, following)
            change = change + self.momentum * following if self.nesterov else following
        return parameter - rate_of(self.learning_rate, parameter) * change
